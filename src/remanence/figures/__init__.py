"""Pictures of what is in the store, and of what `remanence.dynamics` finds."""

from remanence.figures._basins import draw_basins as draw_basins
from remanence.figures._bifurcation import draw_bifurcation as draw_bifurcation
from remanence.figures._columns import Columns as Columns
from remanence.figures._columns import Tables as Tables
from remanence.figures._columns import average_over as average_over
from remanence.figures._columns import count_rows as count_rows
from remanence.figures._columns import keep_rows as keep_rows
from remanence.figures._columns import select_rows as select_rows
from remanence.figures._looks import MODELS as MODELS
from remanence.figures._looks import TRAININGS as TRAININGS
from remanence.figures._looks import find_look as find_look
from remanence.figures._looks import order as order
from remanence.figures._registry import StudyFigure as StudyFigure
from remanence.figures._registry import draw_figure as draw_figure
from remanence.figures._registry import register as register
from remanence.figures._registry import registry as registry
from remanence.figures._returns import draw_returns as draw_returns
from remanence.figures._style import save_figure as save_figure
