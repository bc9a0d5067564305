"""Long-run behaviour of any map from a state to the next: orbits, attractors, basins, VAA.

A map is any function from a state, a flat vector, to a state of the same shape and precision.
States go in and come out as NumPy arrays, and their precision decides that of the work:
float64 is used for float64 states, and for them alone.

Time constants come with an estimate of their error. A `PrecisionWarning` says where rounding leaves
too little of an answer, a `BudgetWarning` where orbits had not settled when their steps ended.
"""

from remanence.dynamics._attractors import Attractor as Attractor
from remanence.dynamics._attractors import BudgetWarning as BudgetWarning
from remanence.dynamics._attractors import find_attractors as find_attractors
from remanence.dynamics._attractors import spread_starts as spread_starts
from remanence.dynamics._basins import Basins as Basins
from remanence.dynamics._basins import map_basins as map_basins
from remanence.dynamics._bifurcation import Bifurcation as Bifurcation
from remanence.dynamics._bifurcation import trace_bifurcation as trace_bifurcation
from remanence.dynamics._fixed_points import FixedPoint as FixedPoint
from remanence.dynamics._fixed_points import find_fixed_points as find_fixed_points
from remanence.dynamics._maps import IdleMap as IdleMap
from remanence.dynamics._maps import from_numpy as from_numpy
from remanence.dynamics._maps import idle_map as idle_map
from remanence.dynamics._maps import is_smooth as is_smooth
from remanence.dynamics._orbits import Orbits as Orbits
from remanence.dynamics._orbits import find_orbits as find_orbits
from remanence.dynamics._orbits import iterate as iterate
from remanence.dynamics._orbits import list_cycle as list_cycle
from remanence.dynamics._spectrum import PrecisionWarning as PrecisionWarning
from remanence.dynamics._vaa import TOLERANCE as TOLERANCE
from remanence.dynamics._vaa import VAA as VAA
from remanence.dynamics._vaa import SaturationWarning as SaturationWarning
from remanence.dynamics._vaa import compute_vaa as compute_vaa
from remanence.dynamics._vaa import find_sole_attractor as find_sole_attractor
