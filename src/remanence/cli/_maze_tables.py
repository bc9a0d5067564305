"""What `remanence certify` prints of agents in rows of mazes."""

from rich.console import Console
from rich.padding import Padding
from rich.table import Table

from remanence.certificates.mazes import VERDICTS, WALKS, MazeCertificate, explain_mazes


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
    table = Table(box=None, pad_edge=False)
    table.add_column("seed", justify="right")
    for walk in ("greedy", "straight ahead", "any walk"):
        table.add_column(walk)
    table.add_column("fails first in maze", justify="right")
    for seed, certificate in certificates.items():
        earliest = [certificate.find_earliest(walk) for walk in WALKS]
        first = min((it for it in earliest if it is not None), default=None)
        cells = [_count(certificate, walk) for walk in WALKS]
        table.add_row(str(seed), *cells, "" if first is None else f"{first:,}")
    console.print(table)
    certified = sum(it.judge("any") == "certified" for it in certificates.values())
    console.print(
        f"\n{certified} of {len(certificates)} remember every table for any number of mazes, "
        "however they walk.",
        highlight=False,
    )


def _count(certificate: MazeCertificate, walk: str) -> str:
    found = [finding.verdict for finding in certificate.select(walk)]
    return ", ".join(f"{found.count(it)} {it}" for it in VERDICTS if it in found)
