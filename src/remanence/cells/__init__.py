"""One recurrent step: the cells, their compositions, and their registry."""

from remanence.cells._bmru import BMRU as BMRU
from remanence.cells._bmru import SURROGATES as SURROGATES
from remanence.cells._brc import BRC as BRC
from remanence.cells._brc import NBRC as NBRC
from remanence.cells._cell import METHODS as METHODS
from remanence.cells._cell import AbstractCell as AbstractCell
from remanence.cells._cell import AbstractGatedCell as AbstractGatedCell
from remanence.cells._cell import AbstractLinearCell as AbstractLinearCell
from remanence.cells._cell import over_axes as over_axes
from remanence.cells._compositions import Parallel as Parallel
from remanence.cells._compositions import Stack as Stack
from remanence.cells._gru import GRU as GRU
from remanence.cells._lstm import LSTM as LSTM
from remanence.cells._mingru import MinGRU as MinGRU
from remanence.cells._registry import list_options as list_options
from remanence.cells._registry import make as make
from remanence.cells._registry import register as register
from remanence.cells._registry import registry as registry
from remanence.cells._unitwise import AbstractUnitwiseCell as AbstractUnitwiseCell
from remanence.cells._weights import Projection as Projection
