"""An agent's step in IEEE's + - * / and comparisons alone, in NumPy, without JAX.

The same operations in the same order have the same bits on every machine and in every language,
which no compiler promises of the network itself. docs/certificates.md defines the program.
"""

from remanence.portable._policy import PortablePolicy as PortablePolicy
from remanence.portable._policy import UnportableError as UnportableError
