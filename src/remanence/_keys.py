"""Randomness by name: adding a consumer never shifts the random numbers of the others."""

import zlib
from collections.abc import Iterable

import jax
import numpy as np

from remanence._typing import Key, Keys


def derive_key(key: Key, purpose: str) -> Key:
    """The key for one named purpose, independent of how many other purposes there are."""
    return jax.random.fold_in(key, zlib.crc32(purpose.encode()))


def derive_keys(key: Key, purposes: Iterable[str]) -> Keys:
    """The keys for some purposes as one array, the same as one by one.

    Each derivation is some hundred operations in a program; together they take no more than one.
    """
    words = np.array([zlib.crc32(purpose.encode()) for purpose in purposes], np.uint32)
    return jax.vmap(jax.random.fold_in, (None, 0))(key, words)
