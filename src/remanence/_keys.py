"""Randomness by name: adding a consumer never shifts the random numbers of the others."""

import zlib

import jax

from remanence._typing import Key


def derive_key(key: Key, purpose: str) -> Key:
    """The key for one named purpose, independent of how many other purposes there are."""
    return jax.random.fold_in(key, zlib.crc32(purpose.encode()))
