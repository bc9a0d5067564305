"""Returns against what grows, in closed loop, and the stability of memories."""

from remanence.evaluation._decisions import space_bins as space_bins
from remanence.evaluation._evaluate import LONGEST as LONGEST
from remanence.evaluation._evaluate import balance_cues as balance_cues
from remanence.evaluation._evaluate import evaluate as evaluate
from remanence.evaluation._recording import Recording as Recording
from remanence.evaluation._recording import record_episode as record_episode
from remanence.evaluation._stability import make_idle_map as make_idle_map
from remanence.evaluation._stability import measure_stability as measure_stability
from remanence.evaluation._stability import name_stability as name_stability
from remanence.evaluation._summary import MEASURES as MEASURES
from remanence.evaluation._summary import Evaluation as Evaluation
from remanence.evaluation._summary import summarize_episodes as summarize_episodes
