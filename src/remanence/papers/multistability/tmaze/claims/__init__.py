"""What the paper says about the T-maze, a file for each part of it, and how it is judged.

To add a claim, write its judge into the file of its section and name it in that file's `CLAIMS`.
"""

from remanence.papers.multistability.tmaze.claims import (
    _deep,
    _learning,
    _long,
    _outcomes,
    _parallelizable,
    _stability,
)
from remanence.report import Claim

SECTIONS = (_learning, _outcomes, _stability, _long, _parallelizable, _deep)
CLAIMS: dict[str, Claim] = {
    name: claim for section in SECTIONS for name, claim in section.CLAIMS.items()
}
