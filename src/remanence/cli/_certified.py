"""What `remanence certify` prints of agents: their certificates, limits and radii."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.padding import Padding

from remanence.certificates import Certificate, Limit, Radius, explain, headline
from remanence.certificates.mazes import (
    VERDICTS,
    WALKS,
    MazeBreak,
    MazeCertificate,
    MazeRadius,
    can_survive,
    explain_mazes,
    show_table,
)
from remanence.cli._command import open_table

MOST_TOLD = 2  # agents of which everything is told
ROUNDING = 1e-12  # of sums in double precision, about
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


def tell_certificate(console: Console, seed: int, certificate: Certificate) -> None:
    """One agent, in words."""
    architecture = certificate.agent["architecture"]
    console.print(f"[bold]seed {seed}[/bold], {architecture['cell']} in a T-maze", highlight=False)
    console.print(Padding(f"[bold]{headline(certificate)}[/bold]", (0, 2)), highlight=False)
    for sentence in explain(certificate):
        console.print(Padding(sentence, (0, 2)), highlight=False)
    console.print()


def tabulate_certificates(console: Console, certificates: dict[int, Certificate]) -> None:
    """Many agents, a line each."""
    titles = ("right arm on", "no wasted step on", "fails first", "any rounding")
    table = open_table(">seed", *titles)
    for seed, certificate in certificates.items():
        solved, optimal = certificate.compiled.solved, certificate.compiled.optimal
        failure = solved.failure
        table.add_row(
            str(seed),
            str(solved.lengths or "undecided"),
            str(optimal.lengths or "undecided"),
            f"{failure.kind} at {failure.length:,}" if failure else "",
            "not proved" if certificate.contraction.optimal is None else "proved",
        )
    console.print(table)
    forever = sum(c.compiled.solved.verdict == "every length" for c in certificates.values())
    undecided = sum(c.compiled.solved.verdict == "undecided" for c in certificates.values())
    console.print(
        f"\n{forever} of {len(certificates)} act right at every length there is, "
        f"{undecided} are undecided.",
        highlight=False,
    )


def tell_mazes(console: Console, seed: int, certificate: MazeCertificate) -> None:
    """One agent, in words."""
    cell, maze = certificate.agent["architecture"]["cell"], certificate.environment
    plural = "s" if len(maze["lengths"]) > 1 else ""
    lengths = ", ".join(map(str, maze["lengths"]))
    console.print(
        f"[bold]seed {seed}[/bold], {cell}, in any number of mazes of length{plural} {lengths}",
        highlight=False,
    )
    for heading, sentences in explain_mazes(certificate):
        console.print(Padding(f"[bold]{heading}[/bold]", (0, 2)), highlight=False)
        for sentence in sentences:
            console.print(Padding(sentence, (0, 4)), highlight=False)
    console.print()


def tabulate_mazes(console: Console, certificates: dict[int, MazeCertificate]) -> None:
    """Many agents, a line each: of how many tables which verdict."""
    walks = ("greedy", "straight ahead", "any walk")
    table = open_table(">seed", *walks, ">fails first in maze")
    for seed, certificate in certificates.items():
        earliest = [certificate.find_earliest(walk) for walk in WALKS]
        first = min((it for it in earliest if it is not None), default=None)
        cells = [_count_verdicts(certificate, walk) for walk in WALKS]
        table.add_row(str(seed), *cells, "" if first is None else f"{first:,}")
    console.print(table)
    certified = sum(it.judge("any") == "certified" for it in certificates.values())
    console.print(
        f"\n{certified} of {len(certificates)} remember every table for any number of mazes, "
        "however they walk.",
        highlight=False,
    )


def _count_verdicts(certificate: MazeCertificate, walk: str) -> str:
    found = [finding.verdict for finding in certificate.select(walk)]
    return ", ".join(f"{found.count(it)} {it}" for it in VERDICTS if it in found)


def tabulate_limits(console: Console, found: Mapping[int, Sequence[Limit]]) -> None:
    """What agents that sample come to in corridors without end."""
    table = open_table(">seed", ">after cue 'up'", ">after cue 'down'")
    for seed, limits in found.items():
        table.add_row(str(seed), *map(_show_limit, limits))
    console.print(table)
    console.print(
        "\nThe chance of the right arm in corridors without end, if actions are sampled; behind ± "
        "is by how much it may be off, because something was too improbable to follow.",
        highlight=False,
    )


def _show_limit(limit: Limit) -> str:
    if limit.low is None or limit.high is None:
        return "undecided"
    if limit.timeout:
        return "out of time"
    if limit.right is None:
        return f"{limit.low:.6f} to {limit.high:.6f}, by length"
    return f"{limit.right:.6f} ±{max(limit.high - limit.low, ROUNDING):.0e}"


def tabulate_radii(console: Console, found: Mapping[int, Any]) -> None:
    """How much disturbance agents survive for ever."""
    mazes = {seed: it for seed, it in found.items() if isinstance(it, MazeRadius)}
    titles = (">walk", ">table") if mazes else ()
    table = open_table(">seed", *titles, ">survives", ">breaks at", "how it breaks")
    for row in _list_mazes(mazes) if mazes else _list_corridors(found):
        table.add_row(*row)
    console.print(table)
    explained = _explain_mazes(mazes) if mazes else [_CORRIDORS]
    console.print("\n" + "\n".join(explained), highlight=False)


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
