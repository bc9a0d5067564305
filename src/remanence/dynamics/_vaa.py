"""Variability among attractors: in how many different states do different starts end?"""

import math
import warnings
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from remanence._numbers import check_whole
from remanence.cells import AbstractCell, AbstractLinearCell, Stack
from remanence.dynamics._maps import (
    IdleMap,
    Starts,
    State,
    States,
    Step,
    cast,
    check_starts,
    is_floating,
    is_smooth,
    to_jax,
    use_precision,
)
from remanence.dynamics._merging import measure_distances, merge
from remanence.dynamics._orbits import Orbits, find_orbits, follow, iterate

# The longest time over which two cycles are compared before the limit is called unknown.
LONGEST_COMPARISON_STEPS = 100_000

TOLERANCE = 1e-4  # states that are nearer to each other are the same but for rounding


class SaturationWarning(UserWarning):
    """In float32 another number of states would seem to last.

    Typically a gate saturates and holds what in truth decays; near the border of two basins
    rounding alone may decide as well.

    >>> import warnings
    >>> from remanence import dynamics
    >>> def leak(state):
    ...     return (1 - 1e-9) * state  # by 1 in float32
    >>> with warnings.catch_warnings(record=True, action="always") as caught:
    ...     vaa = dynamics.compute_vaa(leak, np.array([[-0.5], [0.5]]), step32=leak)
    >>> vaa.settled, [warning.category.__name__ for warning in caught]
    (False, ['SaturationWarning'])
    """


@dataclass(frozen=True)
class VAA:
    """What `compute_vaa` found.

    `value` is the VAA after M steps, at `final_states`, and `groups` tells which starts ended
    together. `limit` is the VAA of the limit and `num_attractors` the number of cycles there
    are then; both are None where that is not known. `settled` is whether `value` is that of
    the limit, as far as can be told: where there is no limit to compare with, that no two
    states that count as different came nearer to each other in the second half of the steps.
    `float32_value` is what float32 makes of `value`, or None where that was not computed.

    >>> from remanence import dynamics
    >>> vaa = dynamics.compute_vaa(jnp.cbrt, np.array([[-0.5], [0.5], [0.6]]))
    >>> round(vaa.value, 3), vaa.num_attractors, vaa.settled, vaa.groups.tolist()
    (0.667, 2, True, [0, 1, 1])
    """

    value: float
    limit: float | None
    settled: bool
    num_attractors: int | None
    float32_value: float | None
    groups: Int[np.ndarray, " starts"]
    final_states: Float[np.ndarray, "starts state"]


def compute_vaa(
    step: Step,
    starts: Starts,
    *,
    num_steps: int = 10_000,
    tolerance: float = TOLERANCE,
    budget: int = 100_000,
    compare_float32: bool = True,
    step32: Step | None = None,
) -> VAA:
    """The variability among attractors (Lambrechts et al. 2023; paper, "Computation of the VAA").

        VAA = 1/|H| sum_i 1 / |{j : |f^M(h_i) - f^M(h_j)| <= ε}|

    of the map f = `step` for the starts H, M = `num_steps` and ε = `tolerance`. It is 1/|H| when
    all starts end in one state and 1 when no two do. The starts, one in each row, should be
    float64.

    The limit replaces the distance after M steps by the largest at any time after both orbits
    have closed to the bit, within `budget` steps; so starts that end in one cycle in different
    phases differ. It is compared with ε, not with 0: orbits with one limit may stall in
    neighbouring floating point numbers. It is the limit of the program in floating point, and
    float64 saturates too, from σ(37). Of layers of linear cells under a constant input it is that
    of the map on the real numbers (`find_sole_attractor`), however long it takes to get there.

    With `compare_float32` the same is computed by `step32`, by default `step` with its arrays
    cast if it is a PyTree that has any, such as an `IdleMap`. A `SaturationWarning` says where
    float32 would have changed the answer, as when a gate saturates and a state that decays
    slowly seems to be held.

    >>> from remanence import dynamics
    >>> starts = np.array([[-0.5], [0.5], [0.6]])
    >>> [round(dynamics.compute_vaa(step, starts).value, 3) for step in (jnp.cbrt, jnp.cos)]
    [0.667, 0.333]
    """
    check_whole("num_steps", num_steps, 1)
    starts = check_starts(step, starts)
    middle, final = _walk(step, starts, num_steps)
    value, settled = _judge(middle, final, tolerance)
    if find_sole_attractor(step) is not None:
        limit, num_attractors = _average(np.ones((len(starts), len(starts)), bool)), 1
    else:
        orbits = find_orbits(step, starts, budget=budget)
        limit, num_attractors = _compute_limit(step, orbits, tolerance)
    settled = settled if limit is None else limit == value
    float32_value = None
    if step32 is None and any(map(is_floating, jax.tree.leaves(step))):
        step32 = cast(step, np.float32)
    if compare_float32 and step32 is not None:
        states32 = _walk(step32, starts.astype(np.float32), num_steps)
        float32_value, settled32 = _judge(*states32, tolerance)
        _warn_if_changed((value, settled), (float32_value, settled32))
    groups, _ = merge(final, tolerance, np.ones(len(final), bool), lambda row: final[[row]])
    return VAA(value, limit, settled, num_attractors, float32_value, groups, final)


def find_sole_attractor(step: Step) -> Float[np.ndarray, " state"] | None:
    """The state that every orbit tends to, where linear layers leave no other; else None.

    A linear cell's state tends to drive / (1 - decay) if each |decay| < 1, wherever it starts. So
    the layer above sees an input that settles, and its own state settles too. That takes
    coefficients that are continuous in the input, as a minGRU's are. A BMRU's jump, and nothing is
    said of it; a cell of one's own is believed not to. To settle may take far longer than anyone
    would wait: the steps of a decay of 1 - 1e-6 are counted in millions.

    >>> from remanence import cells, dynamics
    >>> linear = cells.MinGRU(1, 2, key=jax.random.key(0))
    >>> dynamics.find_sole_attractor(dynamics.idle_map(linear, np.zeros(1)))
    array([0., 0.])
    >>> jumping = cells.BMRU(1, 2, key=jax.random.key(0))
    >>> dynamics.find_sole_attractor(dynamics.idle_map(jumping, np.zeros(1))) is None
    True
    """
    if not isinstance(step, IdleMap) or not is_smooth(step.cell):
        return None
    with use_precision(step.input.dtype):
        states = _settle(*to_jax((step.cell, step.input)))
        return None if states is None else np.asarray(jnp.concatenate(states))


def _settle(cell: AbstractCell, input: Float[Array, " input"]) -> list[State] | None:
    """The states of all layers in the end, the lowest first."""
    if type(cell) is Stack:  # one with ways of its own may be anything
        states = []
        for layer in cell.cells:
            settled = _settle(layer, input)
            if settled is None:
                return None
            states += settled
            input = layer.read(jnp.concatenate(settled))
        return states
    if not isinstance(cell, AbstractLinearCell):
        return None
    decay, drive = cell.coefficients(cell.project(input))
    limit = drive / (1 - decay)
    return [limit] if bool(jnp.all((jnp.abs(decay) < 1) & jnp.isfinite(limit))) else None


def _walk(step: Step, starts: States, num_steps: int) -> tuple[States, States]:
    """The states half way and at the end."""
    middle = iterate(step, starts, num_steps // 2)
    return middle, iterate(step, middle, num_steps - num_steps // 2)


def _judge(middle: States, final: States, tolerance: float) -> tuple[float, bool]:
    """The VAA at the end, and whether no states that count as different were still closing in."""
    before, after = measure_distances(middle, middle), measure_distances(final, final)
    # Far above rounding, far below what a mode loses that could end within any patience.
    closing = (after > tolerance) & (after < (1 - 1e-10) * before)
    return _average(after <= tolerance), not closing.any()


def _average(near: Bool[np.ndarray, "starts starts"]) -> float:
    """The VAA, from which starts end together; each does with itself, also at NaN."""
    return float(np.mean(1 / (near | np.eye(len(near), dtype=bool)).sum(axis=1)))


def _compute_limit(
    step: Step, orbits: Orbits, tolerance: float
) -> tuple[float, int] | tuple[None, None]:
    """The VAA of the cycles that closed orbits end in, and the number of those cycles."""
    span = math.lcm(*map(int, np.unique(orbits.period)))
    if not orbits.closed.all() or span > LONGEST_COMPARISON_STEPS:
        return None, None
    cycles = [
        follow(step, point, int(period))
        for point, period in zip(orbits.point, orbits.period, strict=True)
    ]
    # All orbits are on their cycles from the longest transient on; shift them to that time.
    late = orbits.transient.max() - orbits.transient
    cycles = [np.roll(cycle, -shift, axis=0) for cycle, shift in zip(cycles, late, strict=True)]
    near = np.ones((len(cycles), len(cycles)), bool)
    for time in range(span):
        states = np.stack([cycle[time % len(cycle)] for cycle in cycles])
        near &= measure_distances(states, states) <= tolerance
    _, merged = merge(
        np.stack([cycle[0] for cycle in cycles]), tolerance, orbits.closed, cycles.__getitem__
    )
    return _average(near), len(merged)


def _warn_if_changed(precise: tuple[float, bool], single: tuple[float, bool]) -> None:
    if single[0] != precise[0]:
        message = f"the VAA is {precise[0]:.3g}, and float32 would have given {single[0]:.3g}"
    elif single[1] and not precise[1]:
        message = (
            f"the VAA is {precise[0]:.3g} after these steps, but the states are still closing in; "
            "float32 would have them stand still"
        )
    else:
        return
    warnings.warn(message, SaturationWarning, stacklevel=3)
