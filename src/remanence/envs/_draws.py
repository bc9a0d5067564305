"""Random words and what mazes draw from them.

An auto-resetting step draws a whole new episode every time and nearly always throws it away, so
the draws are most of what an environment costs: `jax.random.randint` alone takes longer than all
the rest of a T-maze step. One block of threefry and arithmetic on its two words is enough.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, UInt32

from remanence._keys import derive_key
from remanence._typing import Key

Word = UInt32[Array, ""]
Integer = Int[Array, ""]
Seed = tuple[Word, Word]


def integer_from(word: Word, low: Integer, high: Integer) -> Integer:
    """Uniform over low..high, both ends included: low + floor(word * span / 2^32).

    The multiply-shift of Lemire (2019, "Fast Random Integer Generation in an Interval"); no two
    values' probabilities differ by more than 2^-32.
    """
    span = (high - low + 1).astype(jnp.uint32)
    return low + jax.lax.mulhi(word, span).astype(jnp.int32)


def sign_from(word: Word) -> Integer:
    """-1 or +1 with equal probability."""
    return 2 * (word >> 31).astype(jnp.int32) - 1


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


def word_at(seed: Seed, counter: Integer) -> Word:
    """One word of a stream, in any order: mix(start + counter * stride), with an odd stride.

    SplitMix (Steele, Lea and Flood 2014) in 32 bits, with MurmurHash3's finaliser (Appleby 2011)
    to mix. A tenth of the cost of threefry, and an episode is fixed once its seed is drawn. A few
    strides, such as 65 537, make weak streams; they are too rare to matter to a maze.
    """
    start, stride = seed
    return _mix(start + counter.astype(jnp.uint32) * stride)


def _mix(word: Word) -> Word:
    word = (word ^ (word >> 16)) * jnp.uint32(0x85EBCA6B)
    word = (word ^ (word >> 13)) * jnp.uint32(0xC2B2AE35)
    return word ^ (word >> 16)
