"""Evaluation of environments that are no maze, and of some that say less of themselves."""

import dataclasses
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from remanence import envs, networks
from remanence._keys import derive_key
from remanence.certificates import Odds, SampledEvaluator
from remanence.envs import AbstractEnvironment
from remanence.errors import InvalidOptionError, MissingMethodError
from remanence.evaluation import evaluate, measure_stability
from tests.envs.delayed_copy import DelayedCopy

COPY = DelayedCopy(num_symbols=3)


def make_agent(environment: AbstractEnvironment, seed: int = 0) -> networks.Agent:
    architecture = networks.Architecture(cell="gru", state_size=4, head=(8,))
    key, size = jax.random.key(seed), environment.observation_size
    policy = networks.make_policy(architecture, size, environment.num_actions, key=key)
    return networks.Agent(policy, networks.make_value(architecture, size, key=key), architecture)


def play(agent, environment, params, state):
    """Return, steps and end, step by step; decisions are told from rewards."""
    memory, rewards, terminated, truncated = agent.initial_state(), [], False, False
    while not terminated and not truncated:
        action, memory = agent.act(environment.observe(state), memory)
        state, reward, terminated, truncated = environment.advance(
            jax.random.key(0), state, action.astype(jnp.int32), params
        )
        rewards.append(float(reward))
    end = "timeout" if not terminated else "right" if rewards[-1] > 0 else "wrong"
    return sum(rewards), len(rewards), end


@pytest.mark.parametrize("wrapped", [False, True], ids=["plain", "previous-action"])
def test_an_environment_of_ones_own_is_evaluated(wrapped):
    environment = envs.PreviousAction(COPY) if wrapped else COPY
    agents = {seed: make_agent(environment, seed) for seed in range(3)}
    env = environment, environment.default_params
    evaluation = evaluate(agents, env, [1, 6], num_episodes=3)
    assert (evaluation.axis, evaluation.exact) == ("delay", False)
    episodes = evaluation.episodes
    assert episodes["cue"].tolist() == 6 * [0, 1, 2]
    assert {"right", "wrong"} == set(episodes["end"])
    for row in range(len(episodes["agent"])):
        agent, delay, cue = (episodes[name][row] for name in ("agent", "delay", "cue"))
        params = environment.grow(env[1], int(delay))
        state = environment.start_with(jnp.int32(cue), jax.random.key(0), params)
        found = tuple(episodes[name][row].item() for name in ("return", "num_steps", "end"))
        assert found == play(agents[agent.item()], environment, params, state)


class CopyEvaluator(SampledEvaluator):
    """Says of a delayed copy that three in four episodes are right, and follows no others."""

    returns: ClassVar = {"right": 1.0, "wrong": -7.0, "timeout": 0.0}

    def run(self, agent, lengths):
        for length in lengths:
            yield Odds(length, 0, right=0.75, wrong=0.0, timeout=0.0, left_out=0.25, right_steps=2)


def test_where_odds_are_computed_their_returns_come_with_them(monkeypatch):
    evaluator = CopyEvaluator(COPY, limit_factor=1)
    evaluation = "remanence.evaluation._evaluate"
    monkeypatch.setattr(f"{evaluation}.make_sampled_evaluator", lambda env: evaluator)
    monkeypatch.setattr(f"{evaluation}.MOST_LEFT_OUT", 1.0)
    found = evaluate(make_agent(COPY), (COPY, COPY.default_params), [2], sampled=True)
    assert found.episodes["return"].tolist() == [1.0]
    # What is left out is a third of what is known, and may have earned -7 instead of 1.
    low, high = (found.summarize()[name].item() for name in ("low", "high"))
    assert (low, high) == pytest.approx((1 - 8 / 3, 1 + 8 / 3))


def test_its_memory_has_a_stability():
    assert measure_stability(make_agent(COPY), COPY).value in (1 / 3, 2 / 3, 1.0)


@dataclasses.dataclass(frozen=True)
class Reticent(DelayedCopy):
    """A delayed copy that leaves out what it is told to."""

    hides: frozenset = frozenset()

    def __getattribute__(self, name):
        hides = object.__getattribute__(self, "hides")
        if name in hides:
            return getattr(super(DelayedCopy, self), name)
        return super().__getattribute__(name)


def hide(*names: str) -> tuple[AbstractEnvironment, object]:
    environment = Reticent(num_symbols=3, hides=frozenset(names))  # pyrefly: ignore[unexpected-keyword]
    return environment, environment.default_params


def test_without_cues_episodes_are_drawn():
    agent = make_agent(COPY)
    with pytest.raises(MissingMethodError, match="Reticent does not define start_with"):
        evaluate(agent, hide("start_with"), [4])
    env = hide("cue_observations")
    episodes = evaluate(agent, env, [4], num_episodes=20, seed=3).episodes
    counts = ["num_right", "num_decisions"]
    assert list(episodes) == ["agent", "delay", "return", "num_steps", "end", *counts]
    assert set(episodes["end"]) == {"right", "wrong"}
    key = jax.random.fold_in(derive_key(jax.random.key(3), "evaluation"), 4)
    params = COPY.grow(env[1], 4)
    for row, start in enumerate(jax.random.split(derive_key(key, "start"), 20)):
        found = tuple(episodes[name][row].item() for name in ("return", "num_steps", "end"))
        assert found == play(agent, COPY, params, COPY.start(start, params))


def test_without_situations_episodes_run_to_their_ends():
    # Its memory never moves, so it seems to go round in a circle to who looks at nothing else.
    weights, rest = eqx.partition(make_agent(COPY), eqx.is_array)
    agent = eqx.combine(jax.tree.map(jnp.zeros_like, weights), rest)
    known, unknown = (evaluate(agent, env, [1, 9]).episodes for env in (hide(), hide("situation")))
    for name, column in known.items():
        np.testing.assert_array_equal(column, unknown[name])
    assert "timeout" not in unknown["end"]


@pytest.mark.parametrize(
    ("hidden", "sampled", "error", "message"),
    [
        (["growth"], False, MissingMethodError, "Reticent does not define growth"),
        (["grow"], False, MissingMethodError, "Reticent does not define grow"),
        (["judge"], False, MissingMethodError, "Reticent does not define judge"),
        (["situation", "time_limit"], False, MissingMethodError, r"define situation.*time_limit"),
        (["time_limit"], True, InvalidOptionError, "define time_limit in Reticent"),
    ],
)
@pytest.mark.parametrize("wrapped", [False, True], ids=["plain", "previous-action"])
def test_what_is_missing_is_named(hidden, sampled, error, message, wrapped):
    environment, params = hide(*hidden)
    environment = envs.PreviousAction(environment) if wrapped else environment
    with pytest.raises(error, match=message):
        evaluate(make_agent(environment), (environment, params), [2], sampled=sampled)


@pytest.mark.parametrize("hidden", ["cue_observations", "idle_observation"])
def test_a_stability_needs_cues_and_an_idle_observation(hidden):
    with pytest.raises(MissingMethodError, match=f"Reticent does not define {hidden}"):
        measure_stability(make_agent(COPY), hide(hidden)[0])
