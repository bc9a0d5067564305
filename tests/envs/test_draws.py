import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from remanence._words import seed_from, word_at
from remanence.envs._draws import integer_from, sign_from
from tests.envs.rollouts import assert_uniform

EDGES = [0, 1, 2, 3, 2**16, 2**31 - 1, 2**31, 2**31 + 1, 2**32 - 2, 2**32 - 1]


def mix_exactly(start: int, stride: int, counter: int) -> int:
    """SplitMix with MurmurHash3's finaliser, in integers that do not overflow."""
    word = (start + counter * stride) % 2**32
    word ^= word >> 16
    word = word * 0x85EBCA6B % 2**32
    word ^= word >> 13
    word = word * 0xC2B2AE35 % 2**32
    return word ^ (word >> 16)


@pytest.mark.parametrize(
    ("low", "high"),
    [(1, 1), (7, 7), (1, 3), (-5, 5), (1, 10**6), (1, 2**31 - 1), (0, 2**31 - 1), (2**31 - 1,) * 2],
)
def test_integers_are_the_exact_multiply_shift(low, high):
    random = np.random.default_rng(0).integers(2**32, size=1000, dtype=np.uint32)
    words = np.concatenate([np.array(EDGES, np.uint32), random])
    drawn = jax.vmap(integer_from, (0, None, None))(
        jnp.asarray(words), jnp.int32(low), jnp.int32(high)
    )
    expected = [low + (word * (high - low + 1) >> 32) for word in words.tolist()]
    assert drawn.tolist() == expected
    assert min(expected) >= low
    assert max(expected) <= high


def test_a_sign_is_the_top_bit():
    words = jnp.array(EDGES, jnp.uint32)
    assert jax.vmap(sign_from)(words).tolist() == [1 if w >= 2**31 else -1 for w in EDGES]


def test_words_are_the_exact_hash():
    random = np.random.default_rng(1)
    starts = [*EDGES, *random.integers(2**32, size=300).tolist()]
    strides = [1, 3, 2**31 + 1, 2**32 - 1, *(random.integers(2**32, size=306) | 1).tolist()]
    counters = [0, 1, 2**31 - 1, *random.integers(2**31, size=307).tolist()]
    words = jax.vmap(lambda start, stride, counter: word_at((start, stride), counter))(
        jnp.array(starts, jnp.uint32),
        jnp.array(strides, jnp.uint32),
        jnp.array(counters, jnp.int32),
    )
    assert words.tolist() == list(map(mix_exactly, starts, strides, counters))


def test_a_seed_has_an_odd_stride_and_its_own_words():
    start, stride = jax.vmap(seed_from)(jax.random.split(jax.random.key(2), 1000))
    assert (np.asarray(stride) % 2 == 1).all()
    assert len(np.unique(start)) == len(np.unique(stride)) == 1000


@pytest.mark.parametrize("seed", [(0, 1), (0, 2**32 - 1), (5, 0x9E3779B9), None])
def test_the_words_of_one_stream_look_random(seed):
    if seed is None:
        stream = seed_from(jax.random.key(3))
    else:
        stream = jnp.uint32(seed[0]), jnp.uint32(seed[1])
    words = np.asarray(jax.vmap(lambda counter: word_at(stream, counter))(jnp.arange(2**17)))
    assert_uniform(words >> 24, 256)
    assert_uniform(words & 255, 256)
    for lag in (1, 2, 3, 6):
        # Pairs that do not overlap, so that they are independent.
        first, second = words[:-lag], words[lag:]
        rows = np.arange(len(first)) // lag % 2 == 0
        assert_uniform(16 * (first[rows] >> 28) + (second[rows] >> 28), 256)
    ones = np.array([(words >> bit & 1).sum() for bit in range(32)])
    deviations = (ones - len(words) / 2) / np.sqrt(len(words) / 4)
    assert np.abs(deviations).max() < 4.5


def test_one_place_in_many_streams_looks_random():
    keys = jax.random.split(jax.random.key(4), 2**16)
    draw = jax.vmap(lambda key: jax.vmap(lambda i: word_at(seed_from(key), i))(jnp.arange(8)))
    words = np.asarray(jax.jit(draw)(keys))
    for place in range(8):
        uniform = scipy.stats.kstest(words[:, place] / 2.0**32, "uniform")
        assert uniform.pvalue > 1e-5
    correlations = np.corrcoef(words.T)[np.triu_indices(8, 1)]
    assert np.abs(correlations).max() < 4.5 / np.sqrt(len(words))
