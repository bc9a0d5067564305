import jax
import numpy as np
import pytest

from remanence.training import estimate_advantages

estimate = jax.jit(estimate_advantages, static_argnums=(5, 6))


def advantages_by_definition(reward, value, next_value, terminated, truncated, discount, decay):
    """A double loop: the discounted sum of temporal differences up to the end of the episode."""
    num_steps = len(reward)
    result = np.zeros(num_steps)
    for start in range(num_steps):
        weight = 1.0
        for time in range(start, num_steps):
            bootstrap = 0.0 if terminated[time] else next_value[time]
            result[start] += weight * (reward[time] + discount * bootstrap - value[time])
            if terminated[time] or truncated[time]:
                break
            weight *= discount * decay
    return result


def flags(length, *positions):
    array = np.zeros(length, bool)
    array[list(positions)] = True
    return array


@pytest.mark.parametrize(
    ("terminated", "truncated"),
    [
        (flags(12), flags(12)),
        (flags(12, 5), flags(12)),
        (flags(12), flags(12, 5)),
        (flags(12, 3), flags(12, 7)),
        (flags(12, 0, 11), flags(12)),
        (flags(12), flags(12, 0, 11)),
        (flags(12, 4, 5, 6), flags(12, 5, 6, 7)),
        (flags(12, *range(12)), flags(12)),
        (flags(12), flags(12, *range(12))),
    ],
    ids=[
        "no end",
        "termination",
        "truncation",
        "both kinds",
        "terminations at the ends",
        "truncations at the ends",
        "both at once",
        "all terminate",
        "all truncate",
    ],
)
@pytest.mark.parametrize(("discount", "decay"), [(0.998, 0.98), (0.9, 0.5), (1.0, 1.0), (0.9, 0.0)])
def test_against_a_double_loop(terminated, truncated, discount, decay):
    generator = np.random.default_rng(0)
    reward, value, next_value = generator.normal(size=(3, 12)).astype(np.float32)
    series = (reward, value, next_value, terminated, truncated)
    expected = advantages_by_definition(*series, discount, decay)
    np.testing.assert_allclose(estimate(*series, discount, decay), expected, rtol=1e-5, atol=1e-5)


def test_every_environment_of_a_batch_is_on_its_own():
    generator = np.random.default_rng(1)
    reward, value, next_value = generator.normal(size=(3, 20, 4)).astype(np.float32)
    terminated, truncated = generator.random((2, 20, 4)) < 0.2
    series = (reward, value, next_value, terminated, truncated)
    batch = estimate(*series, 0.95, 0.9)
    for member in range(4):
        one = [array[:, member] for array in series]
        expected = advantages_by_definition(*one, discount=0.95, decay=0.9)
        np.testing.assert_allclose(batch[:, member], expected, rtol=1e-5, atol=1e-5)
