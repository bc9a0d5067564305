"""What holds at every length there is: exact walks, sets of lengths, proofs, and their words."""

from remanence.certificates._certify import BUDGET as BUDGET
from remanence.certificates._certify import Certificate as Certificate
from remanence.certificates._certify import Findings as Findings
from remanence.certificates._certify import Horizons as Horizons
from remanence.certificates._certify import certify as certify
from remanence.certificates._certify import find_compiled as find_compiled
from remanence.certificates._certify import find_portable as find_portable
from remanence.certificates._certify import hash_policy as hash_policy
from remanence.certificates._certify import identify_environment as identify_environment
from remanence.certificates._exact import ExactEpisode as ExactEpisode
from remanence.certificates._exact import ExactEvaluator as ExactEvaluator
from remanence.certificates._exact import make_exact_evaluator as make_exact_evaluator
from remanence.certificates._lengths import LengthSet as LengthSet
from remanence.certificates._limits import Limit as Limit
from remanence.certificates._limits import can_find_limits as can_find_limits
from remanence.certificates._limits import find_limits as find_limits
from remanence.certificates._rows import ROW_KINDS as ROW_KINDS
from remanence.certificates._rows import make_row as make_row
from remanence.certificates._sampled import Odds as Odds
from remanence.certificates._sampled import SampledEvaluator as SampledEvaluator
from remanence.certificates._sampled import make_sampled_evaluator as make_sampled_evaluator
from remanence.certificates._stored import read_certificate as read_certificate
from remanence.certificates._walker import can_certify as can_certify
from remanence.certificates._wording import explain as explain
from remanence.certificates._wording import headline as headline
