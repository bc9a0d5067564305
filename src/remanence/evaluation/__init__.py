"""Returns against horizon, in closed loop, and certificates for all horizons."""

from remanence.evaluation._certify import BUDGET as BUDGET
from remanence.evaluation._certify import Certificate as Certificate
from remanence.evaluation._certify import Findings as Findings
from remanence.evaluation._certify import Horizons as Horizons
from remanence.evaluation._certify import certify as certify
from remanence.evaluation._certify import find_compiled as find_compiled
from remanence.evaluation._certify import find_portable as find_portable
from remanence.evaluation._certify import hash_policy as hash_policy
from remanence.evaluation._certify import identify_environment as identify_environment
from remanence.evaluation._evaluate import LONGEST as LONGEST
from remanence.evaluation._evaluate import Evaluation as Evaluation
from remanence.evaluation._evaluate import evaluate as evaluate
from remanence.evaluation._exact import space_lengths as space_lengths
from remanence.evaluation._lengths import LengthSet as LengthSet
from remanence.evaluation._stability import make_idle_map as make_idle_map
from remanence.evaluation._stability import measure_stability as measure_stability
from remanence.evaluation._stability import name_stability as name_stability
from remanence.evaluation._stored import read_certificate as read_certificate
from remanence.evaluation._wording import explain as explain
from remanence.evaluation._wording import headline as headline
