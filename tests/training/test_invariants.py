"""What must hold of recurrent PPO; each of these has failed in some well-known library."""

import dataclasses
import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from remanence import envs
from remanence.networks import make_architecture
from remanence.training import PPOConfig, train
from remanence.training._learner import Learner
from remanence.training._losses import policy_loss, value_loss
from remanence.training._replays import SequenceReplay
from remanence.training._rollout import evaluate_rollout

NUM_STEPS = 40
CONFIG = PPOConfig(
    num_envs=6,
    num_steps=NUM_STEPS,
    num_iterations=3,
    num_minibatches=2,
    policy_epochs=3,
    value_epochs=2,
)
# A short limit makes episodes end in both ways within a rollout.
ENV, PARAMS = envs.make("tmaze", length=(1, 3), time_limit_factor=3)
CELLS = ["gru", "bmru", "mingru"]


def make_network(cell):
    """Without layers beside the cell, which all that is tested here is about."""
    return make_architecture("small", cell=cell, head=())


# Compiled once for all tests.
run = eqx.filter_jit(lambda network, *given: network.run(*given))
step = eqx.filter_jit(lambda network, *given: network.step(*given))
evaluate = jax.jit(evaluate_rollout)
lose = jax.jit(policy_loss, static_argnums=3)


@pytest.fixture(scope="module", params=CELLS)
def played(request):
    """A state with a rollout behind it, the next rollout, and where acting stands after that."""
    learner = Learner(ENV, make_network(request.param), CONFIG)
    play, judge = jax.jit(learner.play), jax.jit(learner.judge)
    begun = jax.jit(learner.begin)(jnp.int32(3), PARAMS)
    # Fresh policies are next to indifferent; this one prefers something else at every step.
    policy = eqx.tree_at(lambda network: network.output.weight, begun.policy, replace_fn=strengthen)
    acted, played_before, _ = play(dataclasses.replace(begun, policy=policy), PARAMS)
    state, _ = judge(acted, played_before, SequenceReplay())
    after, played_now, _ = play(state, PARAMS)
    stage, rollout = jax.device_get((after.stage, played_now.rollout))
    assert np.any(rollout.truncated & ~rollout.terminated)
    assert np.any(rollout.terminated)
    assert not np.all(rollout.first[0]), "some episodes must be carried into the rollout"
    return state, stage, rollout


def strengthen(weight):
    return jax.device_put(100 * np.asarray(weight))


def draw_advantages():
    return np.random.default_rng(7).normal(size=(NUM_STEPS, CONFIG.num_envs)).astype(np.float32)


def test_the_first_ratio_is_one(played):
    state, _, rollout = played
    logits, _ = run(state.policy, rollout.observation, rollout.first, state.stage.policy_state)
    ratio = np.exp(take_log_probability(logits, rollout.action) - rollout.log_probability)
    np.testing.assert_allclose(ratio, 1, rtol=1e-5)
    _, metrics = lose(logits, rollout, draw_advantages(), CONFIG)
    np.testing.assert_allclose(metrics["kl"], 0, atol=1e-6)
    assert metrics["clipped"] == 0


def take_log_probability(logits, action):
    logits = np.asarray(logits)
    log_probabilities = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    return np.take_along_axis(log_probabilities, action[..., None], axis=-1)[..., 0]


def test_replaying_equals_acting(played):
    state, stage, rollout = played
    run = jax.jit(jax.vmap(lambda network, *rest: network.run(*rest), (None, 1, 1, 0), 1))
    logits, states = run(state.policy, rollout.observation, rollout.first, state.stage.policy_state)
    log_probability = take_log_probability(logits, rollout.action)
    np.testing.assert_allclose(log_probability, rollout.log_probability, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(states[-1], stage.policy_state, rtol=1e-5, atol=1e-6)


def test_a_time_limit_ends_an_episode_for_good_where_it_is_to():
    """What followed a truncation is worth something, or nothing; all else is the same."""
    networks = make_network("mingru")
    found = []
    for ends in (False, True):
        learner = Learner(ENV, networks, dataclasses.replace(CONFIG, time_limit_ends=ends))
        state = jax.jit(learner.begin)(jnp.int32(3), PARAMS)
        state, played, _ = jax.jit(learner.play)(state, PARAMS)
        found.append((state, jax.jit(learner.judge)(state, played, SequenceReplay())[1]))
    (state, bootstrapped), (_, ended) = found
    bootstrapped, ended = jax.device_get((bootstrapped, ended))
    rollout = ended.rollout
    cut = rollout.truncated & ~rollout.terminated
    assert cut.any()
    values = evaluate(state.value, rollout, state.value_state)
    np.testing.assert_array_equal(rollout.action, bootstrapped.rollout.action)
    expected = np.where(cut, CONFIG.discount * np.asarray(values.next_value), 0)
    last = rollout.terminated | rollout.truncated
    difference = bootstrapped.advantage - ended.advantage
    np.testing.assert_allclose(difference[last], expected[last], rtol=1e-4, atol=1e-6)
    assert np.abs(expected[cut]).max() > 1e-3


def test_values_along_a_rollout_are_those_of_stepping(played):
    state, _, rollout = played
    values = jax.device_get(evaluate(state.value, rollout, state.value_state))
    for member in range(2):
        carried = np.asarray(state.value_state)[member]
        for time in range(NUM_STEPS):
            if rollout.first[time, member]:
                carried = state.value.initial_state()
            value, carried = step(state.value, rollout.observation[time, member], carried)
            found = values.value[time, member]
            np.testing.assert_allclose(found, np.asarray(value)[0], rtol=1e-5, atol=1e-5)
            peek, _ = step(state.value, rollout.final_observation[time, member], carried)
            found = values.next_value[time, member]
            np.testing.assert_allclose(found, np.asarray(peek)[0], rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(values.last_state[member], carried, rtol=1e-5, atol=1e-6)


def test_looking_at_a_bootstrap_value_leaves_the_carried_states_alone(played):
    state, _, rollout = played
    moved = rollout._replace(final_observation=rollout.final_observation + 5)
    before = evaluate(state.value, rollout, state.value_state)
    after = evaluate(state.value, moved, state.value_state)
    np.testing.assert_array_equal(before.last_state, after.last_state)
    np.testing.assert_array_equal(before.value, after.value)
    assert not np.allclose(before.next_value, after.next_value)


def test_a_truncated_episode_ends_with_its_own_final_observation(played):
    state, _, rollout = played
    values = evaluate(state.value, rollout, state.value_state)
    truncated = (rollout.truncated & ~rollout.terminated)[:-1]
    goes_on = ~(rollout.truncated | rollout.terminated)[:-1]
    following = np.asarray(values.value)[1:]
    next_value = np.asarray(values.next_value)[:-1]
    np.testing.assert_allclose(next_value[goes_on], following[goes_on], rtol=1e-5, atol=1e-5)
    # The next episode opens with a cue, which the old one's final observation does not show.
    cue = rollout.final_observation[:-1, :, 0]
    assert np.all(cue[truncated] == 0)
    assert np.all(rollout.observation[1:, :, 0][truncated] != 0)
    assert not np.allclose(next_value[truncated], following[truncated])


def test_episodes_in_one_sequence_equal_episodes_run_apart(played):
    state, _, rollout = played
    member = 0
    starts = [0, *np.flatnonzero(rollout.first[1:, member]) + 1, NUM_STEPS]
    carried = np.asarray(state.stage.policy_state)[member]
    observations = rollout.observation[:, member]
    together, _ = run(state.policy, observations, rollout.first[:, member], carried)
    for start, end in itertools.pairwise(starts):
        begin = (
            np.asarray(state.policy.initial_state()) if rollout.first[start, member] else carried
        )
        # Nothing that follows an episode can change it, and one length is compiled once.
        alone = np.zeros_like(observations)
        alone[: end - start] = observations[start:end]
        apart, _ = run(state.policy, alone, np.zeros(NUM_STEPS, bool), begin)
        np.testing.assert_allclose(
            np.asarray(together)[start:end], np.asarray(apart)[: end - start], rtol=1e-5, atol=1e-6
        )


def test_losses_are_their_definitions(played):
    """Against sums written out step by step, for a minibatch of some members."""
    state, _, rollout = played
    members = jnp.array([1, 4])
    chosen = rollout.select(members)
    advantage, target = (np.roll(draw_advantages(), shift)[:, members] for shift in (0, 1))
    policy_state, value_state = map(np.asarray, (state.stage.policy_state, state.value_state))
    # Another policy than the one that acted, so that some ratios are clipped.
    policy = jax.device_put(jax.tree.map(lambda leaf: 3 * np.asarray(leaf), state.policy))
    logits, _ = run(policy, *chosen[:2], policy_state[members])
    loss, _ = lose(logits, chosen, advantage, CONFIG)
    normal = np.asarray(advantage, np.float64)
    normal = (normal - normal.mean()) / (normal.std() + 1e-8)
    surrogate, entropy, targets = [], [], []
    for member, number in enumerate(np.asarray(members)):
        seen = chosen.observation[:, member], chosen.first[:, member]
        logits, _ = run(policy, *seen, policy_state[number])
        for time, row in enumerate(np.asarray(logits, np.float64)):
            probabilities = np.exp(row - row.max()) / np.exp(row - row.max()).sum()
            ratio = probabilities[chosen.action[time, member]] / np.exp(
                float(chosen.log_probability[time, member])
            )
            gain = normal[time, member]
            surrogate.append(min(ratio * gain, np.clip(ratio, 0.8, 1.2) * gain))
            entropy.append(-(probabilities * np.log(probabilities)).sum())
    expected = -np.mean(surrogate) - 0.01 * np.mean(entropy)
    np.testing.assert_allclose(loss, expected, rtol=1e-4, atol=1e-5)

    values, _ = run(state.value, *chosen[:2], value_state[members])
    loss = jax.jit(value_loss, static_argnums=2)(np.asarray(values)[..., 0], target, CONFIG)
    for member, number in enumerate(np.asarray(members)):
        seen = chosen.observation[:, member], chosen.first[:, member]
        values, _ = run(state.value, *seen, value_state[number])
        targets += list((np.asarray(values)[:, 0] - target[:, member]) ** 2)
    np.testing.assert_allclose(loss, 0.5 * np.mean(targets), rtol=1e-4)


@pytest.mark.parametrize("batching", ["cores", "vmap"])
def test_one_seed_alone_equals_that_seed_among_others(batching):
    architecture = make_network("gru")
    env = (ENV, PARAMS)
    alone = train(env, architecture, CONFIG, [5], batching=batching)
    among = train(env, architecture, CONFIG, [2, 5, 9], batching=batching)
    pairs = zip(jax.tree.leaves(alone.agents[5]), jax.tree.leaves(among.agents[5]), strict=True)
    for one, other in pairs:
        if batching == "cores":
            np.testing.assert_array_equal(one, other)
        else:
            # A batched matrix product may round differently from a single one, and three
            # iterations of Adam make 1e-7 into more where a gradient is next to 0.
            np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(
        alone.curves["return"][:1, 0], among.curves["return"][:1, 1], rtol=1e-6
    )
    assert not np.array_equal(among.curves["return"][:, 0], among.curves["return"][:, 1])


def test_the_kl_stop_stops_one_seeds_policy_and_no_value_network():
    """In one program, with a limit that lies between the KL of two seeds."""
    architecture = make_network("gru")
    config = dataclasses.replace(
        CONFIG, num_iterations=1, policy_epochs=8, policy_learning_rate=0.02, max_kl=1e9
    )
    env, seeds = (ENV, PARAMS), [2, 5, 9]
    free = train(env, architecture, config, seeds, batching="vmap")
    assert np.all(free.curves["policy_epochs"] == config.policy_epochs)
    limit = float(np.median(free.curves["kl"]))
    stopped = train(
        env, architecture, dataclasses.replace(config, max_kl=limit), seeds, batching="vmap"
    )
    epochs = stopped.curves["policy_epochs"][0]
    assert np.any(epochs < config.policy_epochs), "no policy was stopped"
    assert np.any(epochs == config.policy_epochs), "every policy was stopped"
    for seed, count in zip(seeds, epochs, strict=True):
        policies = stopped.agents[seed].policy, free.agents[seed].policy
        same = all(
            np.allclose(a, b, rtol=1e-4, atol=1e-5)
            for a, b in zip(*map(jax.tree.leaves, policies), strict=True)
        )
        assert same == (count == config.policy_epochs)
        values = stopped.agents[seed].value, free.agents[seed].value
        for one, other in zip(*map(jax.tree.leaves, values), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
