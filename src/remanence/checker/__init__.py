"""Verifies certificates from an agent's weights, without trusting what made them.

The room imports NumPy and nothing of ours, and nothing of ours uses it to make a certificate: copy
the folder anywhere and run `python -m checker CERTIFICATE AGENT` beside it. `_kernel.py` is what
has to be trusted of proofs by contraction, `_program.py`, `_orbits.py` and `_mazes.py` of claims
about bits, and `_maze_sets.py` of proofs for endless sequences of mazes by sets of memories.
"""

from ._check import check as check
from ._command import examine as examine
from ._command import main as main
from ._command import run as run
from ._fields import CertificateError as CertificateError
from ._statements import CHECKED as CHECKED
from ._statements import Statement as Statement
