"""Dropout (Srivastava et al. 2014), with draws that cost less than the layers they thin out."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, UInt32

from remanence._typing import Key


def drop(hidden: Float[Array, " features"], rate: float, key: Key) -> Float[Array, " features"]:
    """Set each feature to 0 with probability `rate`, and scale up the others to make up for it."""
    return jnp.where(_draw_kept(key, rate, len(hidden)), hidden / (1 - rate), 0)


def _draw_kept(key: Key, rate: float, count: int) -> Bool[Array, " count"]:
    """Which of `count` features to keep: a word for each, against a threshold.

    A block of threefry for every two features took as long as a layer of 128 units itself. So one
    block gives the start and the stride of a sequence, as in SplitMix (Steele, Lea and Flood
    2014), and MurmurHash3's finaliser (Appleby 2011) mixes its members.
    """
    start, stride, *_ = jax.random.key_data(key)
    words = _mix(start + jnp.arange(count, dtype=jnp.uint32) * (stride | 1))
    return words >= jnp.uint32(round(rate * 2**32))


def _mix(words: UInt32[Array, " count"]) -> UInt32[Array, " count"]:
    words = (words ^ (words >> 16)) * jnp.uint32(0x85EBCA6B)
    words = (words ^ (words >> 13)) * jnp.uint32(0xC2B2AE35)
    return words ^ (words >> 16)
