"""Sums, tanh and σ with a fixed order of operations; functions work along the last axis."""

from typing import Any

import numpy as np

TANH_LIMIT = 20.0
TANH_DOUBLINGS = 3
TANH_LEVELS = 6
# How many products of numbers are worked on at once: as many as a core keeps near.
NUM_PRODUCTS = 2**17


def total(terms: np.ndarray) -> np.ndarray:
    """The sum of the last axis, by halves: the second half is added to the first, and so on.

    Of an odd number the middle one waits. `terms` is written over.
    """
    return total_first(np.moveaxis(terms, -1, 0))


def total_first(terms: np.ndarray) -> np.ndarray:
    """The same sum of the first axis."""
    size = len(terms)
    while size > 1:
        half = (size + 1) // 2
        terms[: size - half] += terms[half:size]
        size = half
    return terms[0]


def multiply(weight: np.ndarray, x: np.ndarray) -> np.ndarray:
    """W x for a matrix W (rows, columns) and vectors x (..., columns)."""
    return _multiply_rows(weight, x) if x.ndim == 2 else total(weight * x[..., None, :])


def _multiply_rows(weight: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The same of many vectors x (count, columns), in less time.

    Terms have columns first, so that halves are added from end to end, not row by row.
    """
    columns = np.ascontiguousarray(weight.T)[:, None, :]
    at_once = max(1, NUM_PRODUCTS // max(1, weight.size))
    products = np.empty((len(x), len(weight)), np.result_type(weight, x))
    for start in range(0, len(x), at_once):
        some = slice(start, start + at_once)
        products[some] = total_first(columns * np.ascontiguousarray(x[some].T)[..., None])
    return products


def multiply_each(weights: np.ndarray, x: np.ndarray) -> np.ndarray:
    """W x for each of some matrices W (gates, rows, columns), (gates, ..., rows)."""
    if x.ndim == 1:
        return total(weights * x)
    return np.stack([multiply(weight, x) for weight in weights])


def apply_affine(weight: np.ndarray, bias: np.ndarray, x: np.ndarray) -> np.ndarray:
    """W x + b."""
    return multiply(weight, x) + bias


def apply_affine_between(
    weight: np.ndarray, bias: np.ndarray, lower: np.ndarray, upper: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The least and the greatest that W x + b comes to, of all x between two vectors.

    Rounding keeps order: what is multiplied and added up is least where every term is.
    """
    rises, low, high = weight >= 0, lower[..., None, :], upper[..., None, :]
    least = total(weight * np.where(rises, low, high)) + bias
    return least, total(weight * np.where(rises, high, low)) + bias


def relu(x: np.ndarray) -> np.ndarray:
    """x where it is above 0, else 0."""
    return np.where(x > 0, x, x.dtype.type(0))


def tanh(x: np.ndarray) -> np.ndarray:
    """tanh(x) within 8 units in the last place.

    x is held within ±20 and divided by 8; six levels of Lambert's continued fraction follow,
    y / (1 + y² / (3 + y² / (5 + ...))), then three times tanh(2 y) = 2 t / (1 + t²), which does
    not magnify what was rounded before.
    """
    y = np.minimum(np.maximum(x, -TANH_LIMIT), TANH_LIMIT) * 2.0**-TANH_DOUBLINGS
    square = y * y
    tail: Any = 0.0
    for odd in range(2 * TANH_LEVELS + 1, 1, -2):
        tail = square / (tail + float(odd))
    y = y / (tail + 1.0)
    for _ in range(TANH_DOUBLINGS):
        y = (y + y) / (y * y + 1.0)
    return y


def sigmoid(x: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-x)), as tanh(x / 2) / 2 + 1/2."""
    return tanh(x * 0.5) * 0.5 + 0.5


def blend(z: np.ndarray, held: np.ndarray, candidate: np.ndarray) -> np.ndarray:
    """z h + (1 - z) n: two products, then their sum."""
    return z * held + (1.0 - z) * candidate
