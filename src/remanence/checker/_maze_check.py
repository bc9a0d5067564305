"""Every finding of a certificate for sequences of mazes against an agent's weights."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ._maze_chain import NUM_MAZES, Decisions
from ._maze_fields import ANY, CERTIFIED, GREEDY, REFUTED, SEARCH, SETS, STALL, STRAIGHT
from ._maze_forgetting import is_forgotten
from ._maze_growth import CELLS as GROWN
from ._maze_growth import prove_grown
from ._maze_sets import NotProvedError, prove
from ._mazes import Mazes, MoreThanSaidError, TooManyError, replay, search
from ._program import Program
from ._statements import NOT_REPRODUCED, OPEN, VERIFIED, Statement
from ._statements import REFUTED as FALSE

SHARE_TOLERANCE = 1e-6
MOST_EARLIER = 20_000  # memories among which an earlier failure is looked for
WAYS = {
    GREEDY: "it walks as it likes best, and takes the right arm in every maze",
    STRAIGHT: "led straight ahead, the right arm is the better one at every junction",
    ANY: "however it walks, the right arm is the better one at every junction",
}


def check_findings(certificate: Mapping[str, Any], program: Program) -> Iterator[Statement]:
    """Statements about all tables and ways of walking."""
    if certificate["forgotten"] is not None:
        yield _check_forgotten(program, certificate)
    findings = sorted(certificate["findings"], key=lambda it: list(WAYS).index(it["walk"]))
    for finding in findings:
        mazes = Mazes(program, certificate["environment"], finding["table"])
        table = show_table(finding["table"])
        yield Statement(
            finding["walk"],
            f"{finding['walk']}.{table}",
            f"{table}: {describe(finding)}",
            *_check(mazes, finding),
        )


def _check_forgotten(program: Program, certificate: Mapping[str, Any]) -> Statement:
    number = certificate["forgotten"]
    says = (
        f"from maze {number:,} on a sampled arm is right with 51% at most, on average over a table "
        "and its opposite, if both see the same, but for rounding"
    )
    if is_forgotten(program, certificate["environment"], number):
        return Statement("agent", "forgotten", says, VERIFIED)
    return Statement("agent", "forgotten", says, NOT_REPRODUCED, "that is not proved")


def count_inputs(environment: Mapping[str, Any]) -> int:
    """How many numbers are seen."""
    size = environment["table_size"]
    return size + (1 if environment["index_encoding"] == "scalar" else size) + 1


def show_table(table: list[int]) -> str:
    """Signs, one for each entry."""
    return "".join("+" if entry > 0 else "-" for entry in table)


def describe(finding: Mapping[str, Any]) -> str:
    """A finding in a few words."""
    share = finding["sampled_share"]
    sampled = "" if share is None else f"; sampling, {share:.1%} right in 10,000 mazes"
    limit = finding.get("limit_share")
    in_the_limit = "" if limit is None else f", and {limit:.1%} in the limit"
    return _describe_verdict(finding) + sampled + in_the_limit


def _describe_verdict(finding: Mapping[str, Any]) -> str:
    if finding["verdict"] == REFUTED:
        refutation = finding["refutation"]
        ends = "stalls" if refutation["kind"] == STALL else "fails"
        when = "at the earliest " if refutation["earliest"] else ""
        return f"{ends} {when}in maze {len(refutation['mazes']):,}"
    if finding["verdict"] != CERTIFIED:
        return f"undecided within {finding['budget']:,}"
    by = (
        f"{finding['num_memories']:,} memories, all there are"
        if finding["method"] == SEARCH
        else f"sets of memories that end in the same {_count(finding['history'])}"
    )
    margin = finding["least_margin"]
    least = "" if margin is None else f"; a sampled arm is right with {_show(margin)} or more"
    return f"always right, by {by}{least}"


def _count(history: int) -> str:
    return "observation" if history == 1 else f"{history} observations"


def _show(margin: float) -> str:
    """The probability of the right arm, rounded down."""
    return f"{min(99.9, np.floor(1000 * (0.5 + 0.5 * np.tanh(margin / 2))) / 10):.3g}%"


def _check(mazes: Mazes, finding: Mapping[str, Any]) -> tuple[str, str | None]:
    if finding["verdict"] == CERTIFIED and finding["method"] == SETS:
        return _check_sets(mazes, finding)
    if finding["verdict"] == CERTIFIED:
        return _check_census(mazes, finding, None)
    if finding["verdict"] != REFUTED:
        return OPEN, None
    refutation, number = finding["refutation"], len(finding["refutation"]["mazes"])
    problem = replay(mazes, finding["walk"], refutation)
    if problem is not None:
        return FALSE, problem
    if finding["num_memories"] is not None:
        return _check_census(mazes, finding, number if refutation["earliest"] else 0)
    return _check_earliest(mazes, finding, number) if refutation["earliest"] else (VERIFIED, None)


def _check_sets(mazes: Mazes, finding: Mapping[str, Any]) -> tuple[str, str | None]:
    try:
        known = (finding[name] for name in ("walk", "history", "reach", "num_rounds"))
        by = prove_grown if mazes.program.shape["cell"] in GROWN else prove
        margin = by(mazes, *known)
    except (NotProvedError, TooManyError) as error:
        return NOT_REPRODUCED, f"the sets do not prove it: {error}"
    if finding["least_margin"] is not None and not finding["least_margin"] <= margin:
        return NOT_REPRODUCED, f"proved: {_show(margin)} or more"
    return VERIFIED, None


def _check_census(
    mazes: Mazes, finding: Mapping[str, Any], failure: int | None
) -> tuple[str, str | None]:
    """All memories, and in which maze the first failure is; 0 if that is not said."""
    try:
        found = search(mazes, finding["walk"], finding["num_memories"])
    except MoreThanSaidError as error:
        return FALSE, str(error)
    except TooManyError as error:
        return NOT_REPRODUCED, str(error)
    if finding["num_memories"] != found.num_memories:
        return FALSE, f"there are {found.num_memories:,} memories"
    if finding["least_margin"] is not None and finding["least_margin"] != found.least_margin:
        return FALSE, f"the least margin is {found.least_margin!r}"
    if failure != 0 and failure != found.first_failure:
        return FALSE, f"it fails first in maze {found.first_failure}"
    return (VERIFIED, None) if finding["sampled_share"] is None else _check_share(mazes, finding)


def _check_share(mazes: Mazes, finding: Mapping[str, Any]) -> tuple[str, str | None]:
    limit = finding.get("limit_share")
    try:
        decisions = Decisions(mazes)
        share = decisions.average(NUM_MAZES)
        found = None if limit is None else decisions.find_limit()
    except (TooManyError, np.linalg.LinAlgError) as error:
        return NOT_REPRODUCED, f"the share of right decisions: {error}"
    if not abs(share - finding["sampled_share"]) <= SHARE_TOLERANCE:
        return FALSE, f"{share:.6%} are right"
    if limit is not None and found is not None and not abs(found - limit) <= SHARE_TOLERANCE:
        return FALSE, f"{found:.6%} are right in the limit"
    return VERIFIED, None


def _check_earliest(
    mazes: Mazes, finding: Mapping[str, Any], number: int
) -> tuple[str, str | None]:
    """Whether nothing fails before, if that can be looked through."""
    if number == 1:
        return VERIFIED, None
    try:
        found = search(mazes, finding["walk"], MOST_EARLIER, number - 1)
    except TooManyError:
        return NOT_REPRODUCED, "it fails so, but whether not before was not looked through"
    if found.first_failure is None:
        return VERIFIED, None
    return FALSE, f"it fails already in maze {found.first_failure:,}"
