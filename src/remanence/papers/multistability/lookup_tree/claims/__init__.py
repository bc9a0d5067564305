"""What the paper says about the LookupTreeMaze, a file for each part of it, and how it is judged.

To add a claim, write its judge into the file of its section and name it in that file's `CLAIMS`.
Sentences that only describe the task, or say what might be, have no rule.
"""

from remanence.papers.multistability.lookup_tree.claims import (
    _hybrid,
    _lacks,
    _learning,
    _nonlinear,
    _parallelizable,
    _regimes,
)
from remanence.report import Claim

SECTIONS = (_learning, _nonlinear, _parallelizable, _hybrid, _regimes, _lacks)
CLAIMS: dict[str, Claim] = {
    name: claim for section in SECTIONS for name, claim in section.CLAIMS.items()
}
LATER_CLAIMS = tuple(_lacks.CLAIMS)
