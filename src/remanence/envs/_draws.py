"""What mazes draw from random words.

An auto-resetting step draws a whole new episode every time and nearly always throws it away, so
the draws are most of what an environment costs: `jax.random.randint` alone takes longer than all
the rest of a T-maze step. One block of threefry and arithmetic on its two words is enough.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from remanence._words import Word

Integer = Int[Array, ""]


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
