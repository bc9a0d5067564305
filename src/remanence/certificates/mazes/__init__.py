"""What holds for every sequence of mazes, however many: of LookupTreeMaze's agents."""

from remanence.certificates.mazes._breaking import MazeBreak as MazeBreak
from remanence.certificates.mazes._certify import BUDGET as BUDGET
from remanence.certificates.mazes._certify import MazeCertificate as MazeCertificate
from remanence.certificates.mazes._certify import can_certify_mazes as can_certify_mazes
from remanence.certificates.mazes._certify import certify_mazes as certify_mazes
from remanence.certificates.mazes._finding import CERTIFIED as CERTIFIED
from remanence.certificates.mazes._finding import VERDICTS as VERDICTS
from remanence.certificates.mazes._finding import TableFinding as TableFinding
from remanence.certificates.mazes._radius import MazeRadius as MazeRadius
from remanence.certificates.mazes._radius import TableRadius as TableRadius
from remanence.certificates.mazes._radius import can_survive as can_survive
from remanence.certificates.mazes._radius import find_maze_radius as find_maze_radius
from remanence.certificates.mazes._radius import make_maze_radius_rows as make_maze_radius_rows
from remanence.certificates.mazes._rows import ROW_KINDS as ROW_KINDS
from remanence.certificates.mazes._rows import make_maze_rows as make_maze_rows
from remanence.certificates.mazes._rows import read_maze_certificate as read_maze_certificate
from remanence.certificates.mazes._rows import show_table as show_table
from remanence.certificates.mazes._sequences import Refutation as Refutation
from remanence.certificates.mazes._sequences import Visit as Visit
from remanence.certificates.mazes._walks import ANY as ANY
from remanence.certificates.mazes._walks import WALKS as WALKS
from remanence.certificates.mazes._wording import explain_mazes as explain_mazes
from remanence.certificates.mazes._world import World as World
from remanence.certificates.mazes._world import list_tables as list_tables
