"""Interval arithmetic for the search for proofs, with the rounding of programs beside it.

`remanence.checker` has an arithmetic of its own, balls, and shares nothing with this one.
"""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

RELATIVE_ERROR = 2.0**-48  # of NumPy's exp and tanh; libraries promise 2^-50 or better
ABSOLUTE_ERROR = 1e-300  # of anything that may have underflowed
# Of the programs spoken of; four times what the checker allows them, whose arithmetic is coarser.
ROUNDING, UNDERFLOW, TANH_ERROR = 2.0**-20, 4e-37, 2.0**-18
LARGEST = 2.0**99  # a little less than what the checker allows
SMALLEST = 2.0**-126  # programs may take what is smaller for 0


class UndecidedError(Exception):
    """The arithmetic here cannot tell; nothing is proved, and nothing refuted."""


class Interval:
    """Arrays of intervals; every operation contains what it gives on the reals, rounded outward.

    `error` bounds how far a program in binary32 is from the exact result of the same operations.
    """

    __array_ufunc__ = None  # so that `array @ interval` comes here

    def __init__(self, lower: Any, upper: Any = None, error: Any = 0.0):
        self.lower = np.asarray(lower, np.float64)
        self.upper = self.lower if upper is None else np.asarray(upper, np.float64)
        shape = self.lower.shape
        is_full = isinstance(error, np.ndarray) and error.shape == shape
        self.error = error if is_full else np.full(shape, error)

    def __getitem__(self, index: Any) -> "Interval":
        return Interval(self.lower[index], self.upper[index], self.error[index])

    def __add__(self, other: Any) -> "Interval":
        if isinstance(other, Dual):
            return NotImplemented
        other = as_interval(other)
        ends = _add(self, other)
        return _allow(*ends, self.error + other.error, self.is_some & other.is_some)

    def __mul__(self, other: Any) -> "Interval":
        if isinstance(other, Dual):
            return NotImplemented
        other = as_interval(other)
        error = self.magnitude * other.error + self.error * (other.magnitude + other.error)
        return _allow(*_multiply(self, other), error)

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self) -> "Interval":
        return Interval(-self.upper, -self.lower, self.error)

    def __sub__(self, other: Any) -> "Interval":
        return self + -(other if isinstance(other, Dual) else as_interval(other))

    def __rsub__(self, other: Any) -> "Interval":
        return -self + other

    def __truediv__(self, other: Any) -> "Interval":
        other = as_interval(other)
        if not np.all((other.lower > 0) | (other.upper < 0)):
            raise UndecidedError("a divisor may be 0")
        return self * Interval(round_down(1 / other.upper), round_up(1 / other.lower))

    def __rtruediv__(self, other: Any) -> "Interval":
        return as_interval(other) / self

    def __rmatmul__(self, matrix: np.ndarray) -> "Interval":
        """A matrix of exact numbers times intervals, as midpoint and radius (Rump 1999)."""
        # |fl(x y) - x y| <= g |x| |y| with g = n u / (1 - n u), in whatever order the n terms are
        # added (Higham 2002, section 3.1). The share allowed is above 2 g: once for the midpoints,
        # once for the sum that bounds them.
        terms, middle, radius = matrix.shape[-1], self.middle, self.radius
        share = (terms + 2) * 2.0**-52
        reach = round_up(radius + round_up(share * round_up(np.abs(middle) + radius)))
        centre, sizes = matrix @ middle, np.abs(matrix)
        spread = round_up(sizes @ reach + terms * ABSOLUTE_ERROR)
        bound = sizes @ (self.magnitude + self.error)
        if not (bound <= LARGEST).all():
            raise UndecidedError("numbers above 2^99 may arise, where binary32 may overflow")
        error = (terms + 4) * ROUNDING * bound
        error = sizes @ self.error + error + terms * UNDERFLOW
        return Interval(round_down(centre - spread), round_up(centre + spread), error)

    @functools.cached_property
    def middle(self) -> Any:
        """A point of each interval, near its middle."""
        return np.minimum(np.maximum(self.lower / 2 + self.upper / 2, self.lower), self.upper)

    @property
    def radius(self) -> Any:
        """How far an interval reaches from `middle`, at most."""
        return np.maximum(round_up(self.middle - self.lower), round_up(self.upper - self.middle))

    @functools.cached_property
    def magnitude(self) -> Any:
        """The largest absolute value in each interval."""
        return np.maximum(-self.lower, self.upper)

    @functools.cached_property
    def is_some(self) -> Any:
        """Where a program may have another number than 0."""
        return self.magnitude + self.error > 0

    def clip(self, low: float | int, high: float | int) -> "Interval":
        """The same intervals, knowing that what they enclose lies between two numbers."""
        lower, upper = (np.minimum(np.maximum(it, low), high) for it in (self.lower, self.upper))
        return Interval(lower, upper, self.error)

    def abs(self) -> "Interval":
        """The absolute values, exactly."""
        least = np.maximum(np.maximum(self.lower, -self.upper), 0)
        return Interval(least, self.magnitude, self.error)

    def relu(self) -> "Interval":
        """The positive parts, exactly."""
        return Interval(np.maximum(self.lower, 0), np.maximum(self.upper, 0), self.error)

    def tanh(self) -> "Interval":
        """Monotone, so that its values at both ends enclose it."""
        ends = _allow_error(np.tanh(self.lower), np.tanh(self.upper), RELATIVE_ERROR)
        return Interval(*ends, self.error + TANH_ERROR).clip(-1, 1)

    def sigmoid(self) -> "Interval":
        """1 / (1 + exp(-x)), monotone; beyond ±700 it is as good as 0 and 1."""
        ends = (np.minimum(np.maximum(end, -700), 700) for end in (self.lower, self.upper))
        low, high = (1 / (1 + np.exp(-end)) for end in ends)
        ends = _allow_error(low, high, 2 * RELATIVE_ERROR)
        return Interval(*ends, self.error / 4 + TANH_ERROR).clip(0, 1)

    def blend(self, held: "Interval", candidate: "Interval") -> "Interval":
        """z * held + (1 - z) * candidate for a z from 0 to 1; each form is tight elsewhere."""
        one = candidate + self * (held - candidate)
        # The error is that of one form; of the other, and of both ends, only bounds are wanted.
        rest = Interval(*_add(Interval(1.0), -self))
        terms = (Interval(*_multiply(*pair)) for pair in ((self, held), (rest, candidate)))
        low, high = _add(*terms)
        least = np.minimum(held.lower, candidate.lower)
        most = np.maximum(held.upper, candidate.upper)
        lower = np.maximum(np.maximum(low, one.lower), least)
        upper = np.minimum(np.minimum(high, one.upper), most)
        more = 4 * ROUNDING * (held.magnitude + held.error + candidate.magnitude + candidate.error)
        return Interval(lower, upper, one.error + more)

    def switch(self, threshold: "Interval", alpha: np.ndarray, held: "Interval") -> "Interval":
        """S(n) α where |n| > β, else what was held; a selection, so that what is exact stays so."""
        size = self.abs()
        doubt = size.error + threshold.error
        # A difference that underflows may be taken for 0.
        is_set = size.lower > threshold.upper + doubt + UNDERFLOW
        holds = size.upper + doubt <= threshold.lower
        if not np.all(is_set | holds):
            raise UndecidedError("a BMRU is too near its threshold")
        value = np.where(self.lower >= 0, alpha, -alpha)
        lower, upper = (np.where(is_set, value, end) for end in (held.lower, held.upper))
        return Interval(lower, upper, np.where(is_set, 0, held.error))


class Dual:
    """Intervals with the slopes of what they enclose, one column for each direction."""

    __array_ufunc__ = None

    def __init__(self, value: Interval, slope: Interval):
        self.value, self.slope = value, slope

    def __getitem__(self, index: Any) -> "Dual":
        return Dual(self.value[index], self.slope[index])

    def __add__(self, other: Any) -> "Dual":
        if isinstance(other, Dual):
            return Dual(self.value + other.value, self.slope + other.slope)
        return Dual(self.value + other, self.slope)

    def __mul__(self, other: Any) -> "Dual":
        if isinstance(other, Dual):
            slope = self.value * other.slope + self.slope * other.value
            return Dual(self.value * other.value, slope)
        return Dual(self.value * other, self.slope * other)

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self) -> "Dual":
        return Dual(-self.value, -self.slope)

    def __sub__(self, other: Any) -> "Dual":
        return self + -other

    def __rsub__(self, other: Any) -> "Dual":
        return -self + other

    def __rmatmul__(self, matrix: np.ndarray) -> "Dual":
        return Dual(matrix @ self.value, matrix @ self.slope)

    def abs(self) -> Interval:
        """Only thresholds need it, and those need no slope."""
        return self.value.abs()

    def tanh(self) -> "Dual":
        """tanh' = 1 - tanh²."""
        value = self.value.tanh()
        return Dual(value, (1 - value * value).clip(0, 1) * self.slope)

    def sigmoid(self) -> "Dual":
        """σ' = σ (1 - σ)."""
        value = self.value.sigmoid()
        return Dual(value, (value * (1 - value)).clip(0, 0.25) * self.slope)

    def blend(self, held: "Dual", candidate: "Dual") -> "Dual":
        """As for intervals."""
        value = self.value.blend(held.value, candidate.value)
        slope = self.slope * (held.value - candidate.value)
        slope = slope + self.value * held.slope + (1 - self.value) * candidate.slope
        return Dual(value, slope)

    def switch(self, threshold: Interval, alpha: np.ndarray, held: "Dual") -> "Dual":
        """As for intervals; a BMRU's state is known exactly, and so it has no slope."""
        value = self.value.switch(threshold, alpha, held.value)
        return Dual(value, Interval(np.zeros_like(held.slope.lower)))


def as_interval(number: Any) -> Interval:
    """Exact numbers as intervals of no width."""
    return number if isinstance(number, Interval) else Interval(number)


def round_up(number: Any) -> Any:
    """The next number above, which no rounding to nearest has passed."""
    return np.nextafter(number, np.inf)


def round_down(number: Any) -> Any:
    """The next number below."""
    return np.nextafter(number, -np.inf)


def _add(one: Interval, other: Interval) -> tuple[Any, Any]:
    """Ends of the sums, rounded outward."""
    return round_down(one.lower + other.lower), round_up(one.upper + other.upper)


def _multiply(one: Interval, other: Interval) -> tuple[Any, Any]:
    """Ends of the products, rounded outward."""
    a, b = one.lower * other.lower, one.lower * other.upper
    c, d = one.upper * other.lower, one.upper * other.upper
    lower = np.minimum(np.minimum(a, b), np.minimum(c, d))
    upper = np.maximum(np.maximum(a, b), np.maximum(c, d))
    return round_down(lower), round_up(upper)


def _allow(lower: Any, upper: Any, error: Any, inexact: Any = True) -> Interval:
    """Ends with this error, and with that of one more operation where it is inexact."""
    more = ROUNDING * 4 * (np.maximum(-lower, upper) + error) + UNDERFLOW
    return Interval(lower, upper, error + more * inexact)


def _allow_error(lower: Any, upper: Any, relative: float) -> tuple[Any, Any]:
    lower = lower - (np.abs(lower) * relative + ABSOLUTE_ERROR)
    upper = upper + (np.abs(upper) * relative + ABSOLUTE_ERROR)
    return round_down(lower), round_up(upper)


def tanh(x: Any) -> Any:
    """tanh in whatever arithmetic x is in."""
    return np.tanh(x) if isinstance(x, np.ndarray) else x.tanh()


def sigmoid(x: Any) -> Any:
    """σ in whatever arithmetic x is in."""
    return 1 / (1 + np.exp(-x)) if isinstance(x, np.ndarray) else x.sigmoid()


def relu(x: Any) -> Any:
    """The positive part in whatever arithmetic x is in."""
    return np.maximum(x, 0) if isinstance(x, np.ndarray) else x.relu()


def blend(z: Any, held: Any, candidate: Any) -> Any:
    """z * held + (1 - z) * candidate in whatever arithmetic they are in."""
    if isinstance(z, np.ndarray):
        return z * held + (1 - z) * candidate
    if isinstance(held, Dual):
        z, candidate = _as_dual(z, held), _as_dual(candidate, held)
    return z.blend(held, candidate)


def switch(n: Any, beta: Any, alpha: np.ndarray, held: Any) -> Any:
    """S(n) α where |n| > |β|, else what was held, in whatever arithmetic they are in."""
    if isinstance(n, np.ndarray):
        is_set = np.abs(n) - np.abs(beta) > 0
        return np.where(is_set, np.where(n >= 0, alpha, -alpha), held)
    if isinstance(held, Dual):
        n = _as_dual(n, held)
    return n.switch(beta.abs(), alpha, held)


def concatenate(parts: Sequence[Any]) -> Any:
    """States side by side, in whatever arithmetic they are in."""
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    if isinstance(parts[0], Dual):
        return Dual(concatenate([p.value for p in parts]), concatenate([p.slope for p in parts]))
    fields = ([getattr(part, name) for part in parts] for name in ("lower", "upper", "error"))
    return Interval(*map(np.concatenate, fields))


def affine(weight: np.ndarray, x: Any, bias: np.ndarray) -> Any:
    """W x + b; columns that meet an exact 0 are left out, so that W 0 + b is exactly b."""
    if isinstance(x, Interval):
        live = np.any((x.lower != 0) | (x.upper != 0), axis=1)
        if not live.any():
            return Interval(np.broadcast_to(bias[:, None], (len(bias), x.lower.shape[1])))
        if not live.all():
            weight, x = weight[:, live], x[live]
    return weight @ x + bias[:, None]


def _as_dual(x: Any, like: Dual) -> Dual:
    return x if isinstance(x, Dual) else Dual(x, Interval(np.zeros_like(like.slope.lower)))
