"""Cells by name. To add one, write its file and register it here."""

import inspect
from collections.abc import Callable
from typing import Any

from remanence._keys import derive_key
from remanence._numbers import check_whole
from remanence._registry import Registry, check_options
from remanence._typing import Key
from remanence.cells._bmru import BMRU
from remanence.cells._brc import BRC, NBRC
from remanence.cells._cell import AbstractCell
from remanence.cells._compositions import Parallel
from remanence.cells._gru import GRU
from remanence.cells._lstm import LSTM
from remanence.cells._mingru import NO_CEILING, MinGRU
from remanence.errors import InvalidOptionError

# A factory is called as `factory(input_size, state_size, key=key, **options)`; a cell class is one.
CellFactory = Callable[..., AbstractCell]

registry: Registry[CellFactory] = Registry("cell")
register = registry.register


def make_hybrid(
    input_size: int,
    state_size: int,
    *,
    key: Key,
    surrogate: str = "arctan",
    surrogate_width: float = 1.0,
    initial_alpha: float = 1.0,
    initial_threshold: float = 0.5,
    decay_ceiling: float = NO_CEILING,
) -> Parallel:
    """BMRU and minGRU of half width each on the same input; its options are theirs."""
    if check_whole("state_size", state_size, 1) % 2:
        raise InvalidOptionError("state_size", state_size, "a hybrid's must be even")
    half = state_size // 2
    bmru = BMRU(
        input_size,
        half,
        key=derive_key(key, "bmru"),
        surrogate=surrogate,
        surrogate_width=surrogate_width,
        initial_alpha=initial_alpha,
        initial_threshold=initial_threshold,
    )
    key = derive_key(key, "mingru")
    return Parallel([bmru, MinGRU(input_size, half, key=key, decay_ceiling=decay_ceiling)])


register("gru", GRU)
register("lstm", LSTM)
register("brc", BRC)
register("nbrc", NBRC)
register("mingru", MinGRU)
register("bmru", BMRU)
register("hybrid", make_hybrid)


def make(name: str, input_size: int, state_size: int, *, key: Key, **options: Any) -> AbstractCell:
    """The cell of that name with fresh weights; `options` are the cell's own.

    >>> from remanence import cells
    >>> list(cells.registry)
    ['gru', 'lstm', 'brc', 'nbrc', 'mingru', 'bmru', 'hybrid']
    >>> cell = cells.make("bmru", 1, 2, key=jax.random.key(0), surrogate="box")
    >>> cell.input_size, cell.state_size, cell.linear
    (1, 2, True)
    """
    factory, known = registry[name], list_options(name)
    if not _takes_any_option(factory):
        check_options(name, options, known)
    options = {option: _read(value, known.get(option)) for option, value in options.items()}
    return factory(input_size, state_size, key=key, **options)


def list_options(name: str) -> dict[str, Any]:
    """The options of a cell beyond its sizes and key, with their defaults.

    >>> from remanence import cells
    >>> cells.list_options("bmru")["surrogate"], cells.list_options("gru")
    ('arctan', {})
    """
    _, _, *others = inspect.signature(registry[name]).parameters.values()
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    options = [p for p in others if p.name != "key" and p.kind not in variadic]
    return {parameter.name: parameter.default for parameter in options}


def _read(value: Any, default: Any) -> Any:
    """The value; where a real number is wanted, a whole one that was typed stands for it."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    return float(value) if whole and isinstance(default, float) else value


def _takes_any_option(factory: CellFactory) -> bool:
    return any(p.kind is p.VAR_KEYWORD for p in inspect.signature(factory).parameters.values())
