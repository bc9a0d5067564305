"""Pictures of what is in the store, and of what `remanence.dynamics` finds."""

from remanence.figures._basins import draw_basins as draw_basins
from remanence.figures._bifurcation import draw_bifurcation as draw_bifurcation
from remanence.figures._returns import draw_returns as draw_returns
from remanence.figures._style import save_figure as save_figure
