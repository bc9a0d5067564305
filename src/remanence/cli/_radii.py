"""What `remanence certify --radius` shows: how much disturbance agents survive for ever."""

import json
from collections.abc import Mapping
from pathlib import Path

from rich.console import Console
from rich.table import Table

from remanence.certificates import Radius
from remanence.cli._progress import show_count
from remanence.study import AgentGroup, find_agent_radii


def tell_radii(group: AgentGroup, console: Console, as_json: bool) -> None:
    """Find the radii, write them into the run, and show them."""
    with show_count("finding radii") as show:
        found = find_agent_radii(group, on_agent=show)
    out = group.records.path / "radii"
    if as_json:
        print(json.dumps(_to_json(found, out), allow_nan=False))
        return
    console.print(_tabulate(found))
    console.print(
        "\nIf no number of any observation is ever off by more than the first radius, the agent "
        "acts right at every length from 2 on; with the second one a disturbance was found that "
        f"breaks it.\nWritten to {out}; `remanence check` verifies it.",
        highlight=False,
    )


def _to_json(found: Mapping[int, Radius], out: Path) -> dict:
    return {"out": str(out), "radii": {str(seed): it.to_json() for seed, it in found.items()}}


def _tabulate(found: Mapping[int, Radius]) -> Table:
    table = Table(box=None, pad_edge=False)
    for title in ("seed", "survives", "breaks at", "how it breaks"):
        table.add_column(title, justify="left" if title.startswith("how") else "right")
    for seed, radius in found.items():
        certified = f"{radius.certified:.3g}" if radius.certified else "not proved"
        table.add_row(str(seed), certified, *_show_break(radius))
    return table


def _show_break(radius: Radius) -> tuple[str, str]:
    broken = radius.broken
    if broken is None:
        return "none found", ""
    where = "at the junction" if broken.at_junction else "in the corridor"
    cue = {-1: "up", 1: "down"}[broken.cue]
    return f"{broken.radius:.3g}", f"{where}, at step {len(broken.observations)} after cue '{cue}'"
