"""What `remanence certify --radius` shows: how much disturbance agents survive for ever."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from remanence.certificates import Radius
from remanence.certificates.mazes import (
    MazeBreak,
    MazeRadius,
    can_survive,
    show_table,
)
from remanence.cli._progress import show_count
from remanence.study import AgentGroup, find_agent_radii

MOST_TOLD = 2  # agents, of which every table is shown
_CORRIDORS = (
    "If no number of any observation is ever off by more than the first radius, the agent "
    "acts right at every length from 2 on; with the second one a disturbance was found that "
    "breaks it."
)
_MAZES = (
    "If no number of any observation is ever off by more than the first radius, that of the table "
    "included, {always}; with the second one a disturbance was found that breaks it."
)
_ALWAYS = {
    "any": "then however it walks, the right arm stays the better one at every junction, after any "
    "number of mazes",
    "straight": "then led straight ahead, the right arm stays the better one at every junction, "
    "after any number of mazes",
    "greedy": "then a greedy agent takes the right arm in every maze, however many",
}
_UNPROVED = (
    "Of the cell {cell} no radius is proved: units that see each other are not followed under "
    "disturbances. What breaks it was looked for all the same."
)


def tell_radii(
    group: AgentGroup,
    console: Console,
    as_json: bool,
    *,
    walk: str | None = None,
    lengths: Sequence[int] | None = None,
) -> None:
    """Find the radii, write them into the run, and show them."""
    with show_count("finding radii") as show:
        found = find_agent_radii(group, walk=walk, lengths=lengths, on_agent=show)
    out = group.records.path / "radii"
    if as_json:
        print(json.dumps(_to_json(found, out), allow_nan=False))
        return
    corridors = {seed: it for seed, it in found.items() if isinstance(it, Radius)}
    mazes = {seed: it for seed, it in found.items() if isinstance(it, MazeRadius)}
    rows = [*_list_corridors(corridors), *_list_mazes(mazes)]
    console.print(_tabulate(rows, in_a_row=bool(mazes)))
    explained = list(_explain_mazes(mazes)) if mazes else [_CORRIDORS]
    written = f"Written to {out}; `remanence check` verifies it."
    console.print("\n" + "\n".join([*explained, written]), highlight=False)


def _to_json(found: Mapping[int, Any], out: Path) -> dict:
    return {"out": str(out), "radii": {str(seed): it.to_json() for seed, it in found.items()}}


def _tabulate(rows: Sequence[Sequence[str]], in_a_row: bool) -> Table:
    table = Table(box=None, pad_edge=False)
    titles = ("seed", *(["walk", "table"] if in_a_row else []), "survives", "breaks at")
    for title in titles:
        table.add_column(title, justify="right")
    table.add_column("how it breaks")
    for row in rows:
        table.add_row(*row)
    return table


def _list_corridors(found: Mapping[int, Radius]) -> Iterator[Sequence[str]]:
    for seed, radius in found.items():
        yield str(seed), _show_size(radius.certified), *_show_break(radius)


def _show_size(certified: float) -> str:
    return f"{certified:.3g}" if certified else "not proved"


def _show_break(radius: Radius) -> tuple[str, str]:
    broken = radius.broken
    if broken is None:
        return "none found", ""
    where = "at the junction" if broken.at_junction else "in the corridor"
    cue = {-1: "up", 1: "down"}[broken.cue]
    return f"{broken.radius:.3g}", f"{where}, at step {len(broken.observations)} after cue '{cue}'"


def _list_mazes(found: Mapping[int, MazeRadius]) -> Iterator[Sequence[str]]:
    for seed, radius in found.items():
        told = [("all", radius)]
        if len(found) <= MOST_TOLD:
            told += [(show_table(it.table), it) for it in radius.tables]
        for name, it in told:
            size = _show_size(it.certified)
            yield str(seed), radius.walk, name, size, *_show_maze_break(it.broken)


def _show_maze_break(broken: MazeBreak | None) -> tuple[str, str]:
    if broken is None:
        return "none found", ""
    how = "stalls" if broken.kind == "stall" else "prefers the wrong arm"
    return f"{broken.radius:.3g}", f"{how} in maze {len(broken.visits):,}"


def _explain_mazes(found: Mapping[int, MazeRadius]) -> Iterator[str]:
    for walk in dict.fromkeys(it.walk for it in found.values()):
        yield _MAZES.format(always=_ALWAYS[walk])
    shapes = [it.agent["architecture"] for it in found.values()]
    for cell in dict.fromkeys(it["cell"] for it in shapes if not can_survive(it)):
        yield _UNPROVED.format(cell=cell)
