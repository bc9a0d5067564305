"""A certificate for sequences of mazes in sentences."""

import math
from collections.abc import Iterator, Sequence

from remanence.certificates.mazes._certify import MazeCertificate
from remanence.certificates.mazes._finding import CERTIFIED, REFUTED, UNDECIDED, TableFinding
from remanence.certificates.mazes._rows import show_table
from remanence.certificates.mazes._sequences import STALL
from remanence.certificates.mazes._walks import ANY, GREEDY, STRAIGHT

_WAYS = {
    GREEDY: "Greedy, as it walks",
    STRAIGHT: "Memory, led straight ahead",
    ANY: "Memory, however it walks",
}
_ALWAYS = {
    GREEDY: "right in every maze of every sequence, however many",
    STRAIGHT: "at every junction the right arm is the better one, after any number of mazes",
    ANY: "at every junction the right arm is the better one, after any number of mazes",
}


def explain_mazes(certificate: MazeCertificate) -> Iterator[tuple[str, list[str]]]:
    """A heading for each way of walking, and sentences about all tables and about each.

    >>> from remanence.certificates import mazes
    >>> found = [
    ...     mazes.TableFinding((1, -1), walk, "certified", "search", 12, least_margin=1.0)
    ...     for walk in mazes.WALKS
    ... ]
    >>> certificate = mazes.MazeCertificate({}, {}, {}, tuple(found))
    >>> for heading, sentences in mazes.explain_mazes(certificate):
    ...     print(heading, len(sentences))
    Greedy, as it walks: certified for all 1 tables 2
    Memory, led straight ahead: certified for all 1 tables 2
    Memory, however it walks: certified for all 1 tables 2
    """
    for walk, way in _WAYS.items():
        findings = certificate.select(walk)
        yield f"{way}: {_count(findings)}", list(_explain(walk, findings))
    if certificate.forgotten is not None:
        yield (
            f"Provably forgotten from maze {certificate.forgotten:,} on",
            [
                "Led by the same steps through the same mazes, whichever these are, after a table "
                "and after its opposite: an arm that it samples is the right one with 51% or less, "
                "on average over both. Rounding is left out of account."
            ],
        )


def _count(findings: Sequence[TableFinding]) -> str:
    counts = {
        verdict: sum(found.verdict == verdict for found in findings)
        for verdict in (CERTIFIED, REFUTED, UNDECIDED)
    }
    if len(findings) in counts.values():
        return f"{findings[0].verdict} for all {len(findings)} tables"
    told = [f"{verdict} for {count}" for verdict, count in counts.items() if count]
    return f"{', '.join(told)} of {len(findings)} tables"


def _explain(walk: str, findings: Sequence[TableFinding]) -> Iterator[str]:
    certified = [found for found in findings if found.verdict == CERTIFIED]
    if certified:
        yield f"{_list(certified)}: {_ALWAYS[walk]}."
        least = [it.least_probability for it in certified if it.least_probability is not None]
        if least:
            share = min(0.999, math.floor(1000 * min(least)) / 1000)
            yield f"An arm that it samples there is the right one with {share:.1%} or more."
    for found in findings:
        if found.refutation is not None:
            yield f"{show_table(found.table)}: {_say_refuted(found)}."
    shares = [it.sampled_share for it in findings if it.sampled_share is not None]
    if len(shares) == len(findings):
        limits = [it.limit_share for it in findings if it.limit_share is not None]
        yield _say_sampled(shares, limits if len(limits) == len(findings) else None)
    undecided = [found for found in findings if found.verdict == UNDECIDED]
    if undecided:
        spent = f"{undecided[0].budget:,} pairs of place and memory"
        yield f"{_list(undecided)}: undecided; neither proved nor refuted within {spent}."


def _say_sampled(shares: Sequence[float], limits: Sequence[float] | None) -> str:
    told = f"Sampling all its actions, it decides right in {_average(shares)} of 10,000 mazes"
    if limits is None:
        return f"{told}."
    return f"{told}, and in {_average(limits)} in the limit of ever more mazes."


def _average(shares: Sequence[float]) -> str:
    return f"{sum(shares) / len(shares):.1%}"


def _say_refuted(found: TableFinding) -> str:
    assert found.refutation is not None
    number = found.refutation.num_mazes
    first = " at the earliest" if found.refutation.earliest else ""
    if found.refutation.kind == STALL:
        return f"stalls{first} in maze {number:,}, and never takes an arm"
    if found.walk == GREEDY:
        return f"takes the wrong arm{first} in maze {number:,}"
    return f"prefers the wrong arm{first} in maze {number:,}"


def _list(findings: Sequence[TableFinding]) -> str:
    return ", ".join(show_table(found.table) for found in findings)
