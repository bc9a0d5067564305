"""What `remanence certify --sampled` shows: agents that sample, in corridors without end."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from remanence.certificates import Limit
from remanence.cli._progress import show_count
from remanence.study import AgentGroup, find_agent_limits

ROUNDING = 1e-12  # of sums in double precision, about


def tell_limits(group: AgentGroup, console: Console, as_json: bool) -> None:
    """Find the limits, write them as a table of the run, and show them."""
    with show_count("finding limits") as show:
        found = find_agent_limits(group, on_agent=show)
    out = group.records.path / "sampled_limits.parquet"
    if as_json:
        print(json.dumps(_to_json(found, out), allow_nan=False))
        return
    console.print(_tabulate(found))
    console.print(
        "\nThe chance of the right arm in corridors without end, if actions are sampled; behind ± "
        "is by how much it may be off, because something was too improbable to follow."
        f"\nWritten to {out}.",
        highlight=False,
    )


def _to_json(found: Mapping[int, Sequence[Limit]], out: Path) -> dict:
    limits = {str(seed): [limit._asdict() for limit in limits] for seed, limits in found.items()}
    return {"out": str(out), "limits": limits}


def _tabulate(found: Mapping[int, Sequence[Limit]]) -> Table:
    table = Table(box=None, pad_edge=False)
    for title in ("seed", "after cue 'up'", "after cue 'down'"):
        table.add_column(title, justify="right")
    for seed, limits in found.items():
        table.add_row(str(seed), *map(_show, limits))
    return table


def _show(limit: Limit) -> str:
    if limit.low is None or limit.high is None:
        return "undecided"
    if limit.timeout:
        return "out of time"
    if limit.right is None:
        return f"{limit.low:.6f} to {limit.high:.6f}, by length"
    return f"{limit.right:.6f} ±{max(limit.high - limit.low, ROUNDING):.0e}"
