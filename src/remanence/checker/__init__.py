"""Verifies certificates from an agent's weights, without trusting what made them.

The room imports NumPy and nothing of ours, and nothing of ours uses it to make a certificate: copy
the folder anywhere and run `python -m checker CERTIFICATE AGENT` beside it. `_kernel.py` is what
has to be trusted of proofs by contraction, `_program.py` and `_orbits.py` of claims about bits.
"""

from ._check import CHECKED as CHECKED
from ._check import Statement as Statement
from ._check import check as check
from ._command import examine as examine
from ._command import main as main
from ._command import run as run
from ._fields import CertificateError as CertificateError
