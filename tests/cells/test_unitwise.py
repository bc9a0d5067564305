"""What the contract tests of cells cannot ask of the cells that are registered."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from remanence import cells
from tests.cells import reference


class Awaking(cells.GRU):
    """A GRU that learns the state which opens its episodes."""

    opening: Float[Array, " state"]

    def __init__(self, input_size: int, state_size: int, *, key: jax.Array):
        super().__init__(input_size, state_size, key=key)
        self.opening = jnp.ones(state_size)

    def initial_state(self) -> Float[Array, " state"]:
        return self.opening


def test_learned_opening_gets_the_gradient_of_the_plain_loop():
    cell = reference.randomise(Awaking(2, 3, key=jax.random.key(0)), 0)
    inputs, _, state = reference.draw_episodes(cell, 0, 6)
    first = jnp.array([False, True, False, False, True, False])

    def differentiate(method: str) -> Awaking:
        return jax.jit(jax.grad(lambda cell: jnp.sum(cell.run(inputs, first, state, method) ** 2)))(
            cell
        )

    expected, computed = differentiate("loop"), differentiate("auto")
    assert np.all(expected.opening != 0)
    jax.tree.map(
        lambda one, other: np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6),
        computed,
        expected,
    )


def test_plain_loop_has_derivatives_in_forward_mode():
    cell = cells.BRC(1, 2, key=jax.random.key(0))
    inputs, first = jnp.ones((3, 1)), jnp.zeros(3, bool)

    def run(state: jax.Array) -> jax.Array:
        return cell.run(inputs, first, state, "loop")[-1]

    forward, backward = jax.jacfwd(run)(jnp.ones(2)), jax.jacrev(run)(jnp.ones(2))
    np.testing.assert_allclose(forward, backward, rtol=1e-5, atol=1e-6)
