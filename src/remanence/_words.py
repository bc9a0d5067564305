"""Random words in any number, where `jax.random` would be most of what a step costs."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Integer, UInt32

from remanence._keys import derive_key
from remanence._typing import Key

Word = UInt32[Array, ""]
Seed = tuple[Word, Word]
# A stream for each place of an array.
Seeds = tuple[UInt32[Array, "*shape"], UInt32[Array, "*shape"]]


def words_from(key: Key) -> tuple[Word, Word]:
    """Two random words: those that a derived key is made of.

    Threefry yields two words at a time; `jax.random.bits` folds them into one, and so would take
    twice as long.
    """
    first, second, *_ = jax.random.key_data(derive_key(key, "words"))
    return first, second


def seed_from(key: Key) -> Seed:
    """A stream of random words, named by its start and its stride."""
    start, stride = words_from(key)
    return start, stride | 1


def seeds_from(key: Key, shape: tuple[int, ...]) -> Seeds:
    """A stream for each place of an array: starts, and strides."""
    start, stride = jax.random.bits(key, (2, *shape), jnp.uint32)
    return start, stride | 1


def word_at(seed: Seed, counter: Integer[Array, "*shape"]) -> UInt32[Array, "*shape"]:
    """Words of a stream, in any order: mix(start + counter * stride), with an odd stride.

    SplitMix (Steele, Lea and Flood 2014) in 32 bits, with MurmurHash3's finaliser (Appleby 2011)
    to mix. A tenth of the cost of threefry, and all is fixed once a seed is drawn. A few
    strides, such as 65 537, make weak streams; they are too rare to matter to a maze.
    """
    start, stride = seed
    word = start + counter.astype(jnp.uint32) * stride
    word = (word ^ (word >> 16)) * jnp.uint32(0x85EBCA6B)
    word = (word ^ (word >> 13)) * jnp.uint32(0xC2B2AE35)
    return word ^ (word >> 16)
