import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from remanence.cells import BMRU, make
from remanence.errors import InvalidOptionError, UnknownNameError
from tests.cells import reference

jitted_run = eqx.filter_jit(BMRU.run)

SURROGATES = {
    "arctan": lambda u: 1 / (1 + (np.pi * u) ** 2),
    "triangle": lambda u: np.clip(1 - np.abs(u), 0, None),
    "box": lambda u: np.where(np.abs(u) < 1, 1.0, 0.0),
}


def name_weights(cell: BMRU) -> reference.Weights:
    return reference.name_weights(
        ["W_n", "W_beta", "b_n", "b_beta", "alpha"],
        [*cell.inputs.weight, *cell.inputs.bias, cell.alpha],
    )


def make_unit(n: float, beta: float, alpha: float = 1.0) -> BMRU:
    """One unit with these biases, deaf to its one input."""
    cell = BMRU(1, 1, key=jax.random.key(0), initial_alpha=alpha)
    return eqx.tree_at(
        lambda it: (it.inputs.weight, it.inputs.bias),
        cell,
        (jnp.zeros((2, 1, 1)), jnp.array([[n], [beta]])),
    )


# Gates are exact, so that float32 and float64 agree to the last bit unless |n| = β to rounding.
@pytest.mark.parametrize("method", ["loop", "scan"])
@pytest.mark.parametrize("scale", [1.0, 100.0])
@pytest.mark.parametrize("seed", range(3))
def test_run_is_exactly_the_papers(seed: int, scale: float, method: str):
    cell = reference.randomise(BMRU(3, 5, key=jax.random.key(seed)), seed, scale)
    episodes = reference.draw_episodes(cell, seed)
    expected = reference.run(reference.step_bmru, name_weights(cell), episodes)
    np.testing.assert_array_equal(jitted_run(cell, *episodes, method), expected)


@pytest.mark.parametrize("scale", [0.1, 1.0, 30.0])
def test_step_follows_the_paper_with_weights_of_any_size(scale: float):
    cell = reference.randomise(BMRU(3, 5, key=jax.random.key(0)), 0, scale)
    computed, expected = reference.compare_steps(cell, reference.step_bmru, name_weights)
    np.testing.assert_array_equal(computed, expected)


def test_gates_are_exactly_open_or_shut():
    cell = reference.randomise(BMRU(3, 5, key=jax.random.key(0)), 0)
    inputs, _, _ = reference.draw_episodes(cell, 0, num_steps=200)
    decay, drive = jax.vmap(lambda input: cell.coefficients(cell.project(input)))(inputs)
    assert set(np.unique(decay)) == {0, 1}
    np.testing.assert_array_equal(
        np.abs(drive), np.where(decay == 0, np.abs(cell.alpha), np.float32(0))
    )


@pytest.mark.parametrize("n", [0.0, 0.3, -0.3, 0.5, -0.5, 0.7, -0.7])
@pytest.mark.parametrize("beta", [0.0, 0.5, -0.5])
def test_unit_holds_exactly_when_its_bias_is_within_its_threshold(n: float, beta: float):
    """H(0) = 0, so a bias as large as the threshold still holds; a larger one jumps at once."""
    cell = make_unit(n, beta, alpha=1.7)
    for start in np.array([-1.7, 0.0, 0.123, 1.7], np.float32):
        states = jitted_run(cell, jnp.ones((4, 1)), jnp.zeros(4, bool), jnp.array([start]))
        expected = start if abs(n) <= abs(beta) else np.copysign(np.float32(1.7), n)
        np.testing.assert_array_equal(states, np.full((4, 1), expected))


def test_sign_of_zero_is_positive():
    """A candidate of 0 never passes, so that S(0) shows only in what z's gradient multiplies."""
    cell = make_unit(n=0.0, beta=0.5)
    gradient = jax.grad(lambda cell: cell.step(jnp.zeros(1), jnp.zeros(1))[0])(cell)
    slope = SURROGATES["arctan"](-0.5)
    np.testing.assert_allclose(gradient.inputs.bias[1, 0], -slope * (1 - 0), rtol=1e-6)


@pytest.mark.parametrize(("num_steps", "width"), [(1, 1), (2, 3), (7, 4), (16, 2), (17, 5)])
def test_scan_is_the_loop_bit_for_bit(num_steps: int, width: int):
    for seed in range(5):
        cell = reference.randomise(BMRU(3, width, key=jax.random.key(seed)), seed)
        inputs, first, state = reference.draw_episodes(cell, seed, num_steps, 0.15 * seed)
        first = first.at[0].set(seed % 2 == 1)
        loop, scan = (
            np.asarray(jitted_run(cell, inputs, first, state, method))
            for method in ("loop", "scan")
        )
        assert loop.tobytes() == scan.tobytes()


@eqx.filter_jit
@eqx.filter_grad
def differentiate(
    at: tuple[BMRU, jax.Array, jax.Array], first: jax.Array, cotangent: jax.Array, method: str
) -> jax.Array:
    cell, inputs, state = at
    return jnp.sum(cotangent * cell.run(inputs, first, state, method))


@pytest.mark.parametrize(("num_steps", "width"), [(1, 1), (7, 4), (17, 5)])
def test_scan_has_the_gradient_of_the_loop(num_steps: int, width: int):
    cell = reference.randomise(BMRU(3, width, key=jax.random.key(0)), 0)
    inputs, first, state = reference.draw_episodes(cell, 0, num_steps)
    cotangent = jax.random.normal(jax.random.key(1), (num_steps, width))
    loop, scan = (
        differentiate((cell, inputs, state), first, cotangent, method)
        for method in ("loop", "scan")
    )
    jax.tree.map(
        lambda one, other: np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6), loop, scan
    )


def differentiate_by_hand(
    w: reference.Weights,
    episodes: reference.Episodes,
    cotangent: np.ndarray,
    surrogate: str,
    width: float,
) -> dict[str, np.ndarray]:
    """The chain rule backwards through the paper's equations, with H' = s(u/width), S' = 2 H'.

    `g` is the gradient with respect to the state after the step.
    """
    inputs, first, carried = (np.asarray(values) for values in episodes)
    slope = SURROGATES[surrogate]
    states = reference.run(reference.step_bmru, w, episodes)
    gradients = {name: np.zeros_like(value) for name, value in w.items()}
    gradients["inputs"] = np.zeros_like(inputs)
    inherited = np.zeros_like(carried)
    for t in reversed(range(len(inputs))):
        x = inputs[t]
        before = carried if t == 0 else states[t - 1]
        before = np.zeros_like(before) if first[t] else before
        n, threshold = w["W_n"] @ x + w["b_n"], w["W_beta"] @ x + w["b_beta"]
        u = np.abs(n) - np.abs(threshold)
        z, s = np.where(u > 0, 1.0, 0.0), np.where(n >= 0, 1.0, -1.0)
        g = cotangent[t] + inherited
        g_u = g * (s * w["alpha"] - before) * slope(u / width)
        g_n = g_u * np.sign(n) + g * z * w["alpha"] * 2 * slope(n / width)
        g_threshold = -g_u * np.sign(threshold)
        gradients["alpha"] += g * z * s
        gradients["b_n"] += g_n
        gradients["b_beta"] += g_threshold
        gradients["W_n"] += np.outer(g_n, x)
        gradients["W_beta"] += np.outer(g_threshold, x)
        gradients["inputs"][t] = w["W_n"].T @ g_n + w["W_beta"].T @ g_threshold
        inherited = np.zeros_like(g) if first[t] else g * (1 - z)
    gradients["state"] = inherited
    return gradients


@pytest.mark.parametrize("width", [0.5, 2.0])
@pytest.mark.parametrize("surrogate", SURROGATES)
def test_gradient_is_the_surrogates(surrogate: str, width: float):
    with jax.enable_x64(True):
        cell = BMRU(2, 4, key=jax.random.key(0), surrogate=surrogate, surrogate_width=width)
        cell = reference.as_float64(reference.randomise(cell, 0))
        inputs, first, state = reference.draw_episodes(cell, 0, num_steps=7)
        first = first.at[3].set(True)
        cotangent = np.random.default_rng(0).normal(size=(7, 4))
        computed, inputs_gradient, state_gradient = jax.tree.map(
            np.asarray,
            differentiate((cell, inputs, state), first, jnp.asarray(cotangent), "loop"),
        )
    episodes = reference.Episodes(inputs, first, state)
    expected = differentiate_by_hand(name_weights(cell), episodes, cotangent, surrogate, width)
    computed = name_weights(computed) | {"inputs": inputs_gradient, "state": state_gradient}
    assert computed.keys() == expected.keys()
    for name in expected:
        np.testing.assert_allclose(computed[name], expected[name], rtol=1e-12, atol=1e-13)


def test_a_narrowed_cell_differs_in_its_gradient_alone():
    """A width of 2 times 0.25 is a width of 0.5, and the scale itself has no gradient."""
    wide, narrow = (
        reference.randomise(BMRU(3, 4, key=jax.random.key(0), surrogate_width=width), 0)
        for width in (2.0, 0.5)
    )
    narrowed = wide.narrow(jnp.float32(0.25))
    inputs, first, state = reference.draw_episodes(wide, 0, num_steps=7)
    cotangent = jax.random.normal(jax.random.key(1), (7, 4))
    np.testing.assert_array_equal(
        jitted_run(narrowed, inputs, first, state), jitted_run(wide, inputs, first, state)
    )
    computed, expected, unlike = (
        differentiate((cell, inputs, state), first, cotangent, "loop")[0]
        for cell in (narrowed, narrow, wide)
    )
    assert computed.scale == 0
    for ours, theirs in zip(
        computed.inputs.__dict__.values(), expected.inputs.__dict__.values(), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
    assert not np.allclose(computed.inputs.bias, unlike.inputs.bias)
    assert jax.tree.structure(computed.narrow(None)) == jax.tree.structure(unlike)


@pytest.mark.parametrize("margin", [0.1, 1.0])
def test_hesitation_is_how_far_inputs_are_within_the_margin(margin: float):
    cell = reference.randomise(BMRU(3, 40, key=jax.random.key(0)), 0)
    weights, input = name_weights(cell), np.array([0.3, -1.0, 0.5], np.float32)
    n, beta = (weights[f"W_{it}"] @ input + weights[f"b_{it}"] for it in ("n", "beta"))
    shares = [max(0, 1 - abs(abs(a) - abs(b)) / margin) for a, b in zip(n, beta, strict=True)]
    assert 0 < np.mean(np.array(shares) > 0) < 1
    computed = cell.measure_hesitation(jnp.asarray(input), cell.initial_state(), margin)
    np.testing.assert_allclose(computed, np.mean(shares), rtol=1e-5)


@pytest.mark.parametrize("n", [0.9, -0.9, 0.2])
def test_gradient_of_one_step_written_out(n: float):
    """α = 1.5, β = 0.4, h = -0.3: with a closed gate only z varies, with an open one S too."""
    cell = make_unit(n, 0.4, alpha=1.5)
    gradient, state_gradient = jax.grad(lambda at: at[0].step(jnp.zeros(1), at[1])[0])(
        (cell, jnp.array([-0.3]))
    )
    s = np.sign(n)
    jump = (1.5 * s + 0.3) / (1 + (np.pi * (abs(n) - 0.4)) ** 2)
    flip = 2 * 1.5 / (1 + (np.pi * n) ** 2) if abs(n) > 0.4 else 0
    np.testing.assert_allclose(gradient.inputs.bias[0, 0], jump * s + flip, rtol=1e-5)
    np.testing.assert_allclose(gradient.inputs.bias[1, 0], -jump, rtol=1e-5)
    np.testing.assert_allclose(gradient.alpha, [s if abs(n) > 0.4 else 0])
    np.testing.assert_allclose(state_gradient, [0 if abs(n) > 0.4 else 1])


def test_weights_start_as_stated():
    cell = BMRU(20, 40, key=jax.random.key(0))
    assert reference.is_xavier(cell.inputs.weight)
    assert not np.any(cell.inputs.bias[0])
    assert np.all(cell.inputs.bias[1] > 0)
    np.testing.assert_array_equal(cell.alpha, np.ones(40))


def test_starts_are_options():
    cell = BMRU(2, 3, key=jax.random.key(0), initial_alpha=2.5, initial_threshold=0.25)
    np.testing.assert_array_equal(cell.alpha, np.full(3, 2.5))
    np.testing.assert_array_equal(cell.inputs.bias, [[0.0] * 3, [0.25] * 3])


def test_unknown_surrogate_is_answered_with_the_nearest():
    with pytest.raises(UnknownNameError, match=r"unknown surrogate 'arctann'.*mean 'arctan'"):
        BMRU(2, 3, key=jax.random.key(0), surrogate="arctann")


@pytest.mark.parametrize("option", ["surrogate_width", "initial_threshold"])
@pytest.mark.parametrize("value", [0.0, -1.0, float("nan")])
def test_positive_options_must_be_positive(option: str, value: float):
    with pytest.raises(InvalidOptionError, match=f"{option} = {value}.*above 0"):
        make("bmru", 2, 3, key=jax.random.key(0), **{option: value})
