"""Derivatives of a NumPy function by differences, and how far they can be trusted."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

Function = Callable[[np.ndarray], np.ndarray]
Matrix = Float[np.ndarray, "state state"]

# Steps between probes of a function's noise. At the first, rounding to float32 shows and curvature
# does not; a function that stands still there rounds to 16 bits, and shows it at the second.
# They are no whole numbers of units, or all probes might be rounded alike.
SPACINGS = tuple(10 * math.pi * float(np.finfo(dtype).eps) for dtype in (np.float32, np.float16))
# How far from the state probes are: floating point numbers are so dense around 0 that a function
# shows less noise there than it has where differences are taken.
ASIDE = 1 / 64
ORDER = 6
# Of functions that are float32 in part, 16 probes misjudge 1 in 50, and 64 none of hundreds.
NUM_PROBES, NUM_PROBES_QUICK = 64, 16
# Each width of the ladder is this many times the next.
RATIO, NUM_WIDTHS = 4.0, 5
# A probe may leave the function's domain, which is no mistake of the user's.
PROBING: dict[str, Any] = {"invalid": "ignore", "over": "ignore", "divide": "ignore"}


class Linearization(NamedTuple):
    """A Jacobian, the error that each of its entries may have, and that of the map itself."""

    jacobian: Matrix
    error: Matrix
    noise: Float[np.ndarray, " state"]


@np.errstate(**PROBING)
def measure_noise(
    function: Function, state: np.ndarray, num_probes: int = NUM_PROBES
) -> Float[np.ndarray, " state"]:
    """The rounding error of each number that `function` returns, measured and not believed.

    A function may take float64 and compute in float32 inside. Differences of a high order of its
    values along a line leave nothing of a smooth function, and of noise of standard deviation s
    leave sqrt(C(2k, k)) s for the order k (Moré and Wild 2011, Estimating computational noise).
    """
    direction = np.random.default_rng(0).choice([-1.0, 1.0], state.shape) * _scale(state)
    times = np.arange(num_probes) - num_probes / 2
    values = np.zeros((num_probes, state.size))
    for spacing in SPACINGS:
        line = state + (ASIDE + spacing * times[:, None]) * direction
        values = np.stack([_apply(function, row.astype(state.dtype)) for row in line])
        if (np.diff(values, axis=0) != 0).mean() >= 0.5:
            break
    differences = np.diff(values, ORDER, axis=0) / math.sqrt(math.comb(2 * ORDER, ORDER))
    least = np.finfo(state.dtype).eps / 2 * _scale(state)
    # `fmax`, as a probe that left the domain says nothing of the noise.
    return np.fmax(np.sqrt(np.mean(differences**2, axis=0)), least)


@np.errstate(**PROBING)
def difference(function: Function, state: np.ndarray) -> Matrix:
    """The Jacobian by central differences as wide as the cube root of the noise: quick."""
    noise = measure_noise(function, state, NUM_PROBES_QUICK)
    return _difference(function, state, np.cbrt(_relate(noise, state)))


@np.errstate(**PROBING)
def linearize(function: Function, state: np.ndarray) -> Linearization:
    """The Jacobian by Richardson's extrapolation of central differences, with its error.

    Of a ladder of widths around the fifth root of the noise, where the error of a well scaled
    function is least, each entry has the one that it is known best at. The error is what the next
    wider pair of differences says otherwise, plus what noise can make of this pair.
    """
    noise = measure_noise(function, state)
    widths = 2 * _relate(noise, state) ** 0.2 * RATIO ** -np.arange(NUM_WIDTHS)
    plain = np.stack([_difference(function, state, width) for width in widths])
    extrapolated = (RATIO**2 * plain[1:] - plain[:-1]) / (RATIO**2 - 1)
    # Noise as large as 3 standard deviations in every value, and a third for the wider difference.
    reach = 4 * noise[:, None] / (widths[2:, None, None] * _scale(state))
    errors = np.abs(np.diff(extrapolated, axis=0)) + reach
    errors = np.where(np.isfinite(errors), errors, np.inf)
    best = errors.argmin(axis=0, keepdims=True)
    jacobian, error = (
        np.take_along_axis(table, best, axis=0)[0] for table in (extrapolated[1:], errors)
    )
    return Linearization(jacobian, error, noise)


def trust(function: Function, jacobian: Matrix, state: np.ndarray) -> Linearization:
    """A Jacobian that was computed by a formula, taken to be as precise as the function."""
    noise = measure_noise(function, state)
    return Linearization(jacobian, 4 * _relate(noise, state) * _scale(jacobian), noise)


def _difference(function: Function, state: np.ndarray, width: float) -> Matrix:
    columns = []
    for unit in np.diag(_scale(state)):
        ahead, behind = ((state + sign * width * unit).astype(state.dtype) for sign in (1, -1))
        # float32 states are not exactly as far apart as they were meant to be.
        gap = np.abs(ahead.astype(float) - behind).sum()
        columns.append((_apply(function, ahead) - _apply(function, behind)) / gap)
    return np.stack(columns, axis=1)


def _apply(function: Function, state: np.ndarray) -> Float[np.ndarray, " state"]:
    return np.asarray(function(state), np.float64)


def _relate(noise: np.ndarray, state: np.ndarray) -> float:
    """The noise of the noisiest number, relative to the size of the state."""
    return float((noise / _scale(state)).max())


def _scale(values: np.ndarray) -> np.ndarray:
    return np.maximum(1.0, np.abs(values))
