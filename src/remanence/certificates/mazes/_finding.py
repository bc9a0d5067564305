"""What is known for one table and one way of walking, and what that rests on."""

import dataclasses
from typing import Any

import numpy as np

from remanence.certificates.mazes._sequences import Refutation

CERTIFIED, REFUTED, UNDECIDED = VERDICTS = ("certified", "refuted", "undecided")
SEARCH, SETS = "search", "sets"


@dataclasses.dataclass(frozen=True)
class TableFinding:
    """A verdict for every sequence of mazes, after one table and for one way of walking.

    `method` is "search" where all memories have been found, `num_memories` of them, or "sets" where
    boxes hold all there are, told apart by the last `history` observations, `reach` of them from
    before the maze, and mapped `num_rounds` times. `least_margin` is the least by which the right
    arm's logit is above the other's at a junction, or a number below it; None if that is not known.
    `sampled_share` is the mean share of right decisions in 10,000 mazes, if actions are sampled,
    and `limit_share` what it comes to in ever more mazes. A `budget` is told if it was spent.

    >>> from remanence.certificates import mazes
    >>> found = mazes.TableFinding((1, -1), "any", "certified", "search", 12, least_margin=0.0)
    >>> found.least_probability, found.to_json()["table"]
    (0.5, [1, -1])
    """

    table: tuple[int, ...]
    walk: str
    verdict: str
    method: str | None = None
    num_memories: int | None = None
    history: int | None = None
    reach: int | None = None
    num_rounds: int | None = None
    least_margin: float | None = None
    sampled_share: float | None = None
    limit_share: float | None = None
    refutation: Refutation | None = None
    budget: int | None = None

    @property
    def least_probability(self) -> float | None:
        """Of two arms the right one is at least so probable, whenever an arm is sampled."""
        if self.least_margin is None:
            return None
        return float(0.5 + 0.5 * np.tanh(0.5 * self.least_margin))

    def to_json(self) -> dict[str, Any]:
        """As a certificate has it."""
        found = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        refutation = None if self.refutation is None else self.refutation.to_json()
        return {**found, "table": list(self.table), "refutation": refutation}
