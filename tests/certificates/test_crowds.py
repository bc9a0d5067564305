"""Memories that are looked at together do what each does that is followed by itself."""

from collections.abc import Iterator
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from remanence import envs, networks
from remanence.cells import Stack
from remanence.certificates import ExactEvaluator, certify
from remanence.certificates._arrivals import Undecided
from remanence.certificates._course import Course, chart_course
from remanence.certificates._crowds import make_crowds
from remanence.certificates._itinerary import Itinerary
from remanence.certificates._portable_walker import PortableWalker
from remanence.certificates._walker import ENDLESS, RIGHT, AbstractWalker, Memories, Spot, Walker
from remanence.checker import check
from tests.certificates.agents import make_agent, make_value

ENV = envs.make("tmaze")
STEPS = 20_000


def make_slow_agent(seed: int, num_layers: int = 1) -> networks.Agent:
    """A random minGRU with units that take long to settle, and that often goes right."""
    architecture = networks.Architecture(
        cell="mingru", state_size=6, num_layers=num_layers, encoder=[6], head=[12], skip=True
    )
    policy = networks.make_policy(architecture, 2, 4, key=jax.random.key(seed))
    weights, rest = eqx.partition(policy, eqx.is_inexact_array)
    leaves, structure = jax.tree.flatten(weights)
    rng = np.random.default_rng(seed)
    leaves = [2 * leaf + 0.5 * rng.normal(size=leaf.shape).astype(np.float32) for leaf in leaves]
    policy = eqx.combine(jax.tree.unflatten(structure, leaves), rest)
    slower = jnp.zeros((2, 6)).at[0].set(rng.uniform(0, 6, 6))
    liking = jnp.asarray([rng.uniform(0, 3), 0.0, 0.0, 0.0], jnp.float32)
    changed = (
        _find_last(policy).inputs.bias + slower,
        10 * policy.output.weight,
        liking,
    )
    policy = eqx.tree_at(
        lambda it: (_find_last(it).inputs.bias, it.output.weight, it.output.bias), policy, changed
    )
    return networks.Agent(policy, make_value(architecture, 2), architecture)


def _find_last(policy: networks.Network) -> Any:
    return policy.cell.cells[-1] if isinstance(policy.cell, Stack) else policy.cell


def make_drifter(threshold: float, bias: float = 7.0) -> networks.Agent:
    """One unit, 1 after the cue below and 0 after that above, which the corridor leaves as it is.

    At the junction it falls by a share of σ(-bias) in each step, and the agent goes right as long
    as it is above a threshold, and then up.
    """
    architecture = networks.Architecture(
        cell="mingru", state_size=1, num_layers=1, encoder=[], head=[], skip=False
    )
    policy = networks.make_policy(architecture, 2, 4, key=jax.random.key(0))
    weights = (
        jnp.asarray([[[-80.0, bias - 30.0]], [[1.0, 0.0]]], jnp.float32),
        jnp.asarray([[30.0], [0.0]], jnp.float32),
        jnp.asarray([[1.0], [0.0], [0.0], [0.0]], jnp.float32),
        jnp.asarray([0.0, threshold, -9.0, -9.0], jnp.float32),
    )
    policy = eqx.tree_at(
        lambda it: (it.cell.inputs.weight, it.cell.inputs.bias, it.output.weight, it.output.bias),
        policy,
        weights,
    )
    return networks.Agent(policy, make_value(architecture, 2), architecture)


def follow(walker: AbstractWalker, memory: np.ndarray) -> tuple[int, int]:
    """The arm that is entered from the junction, and after how many steps; 0 if none ever is."""
    spot, num_steps = Spot(1, ENDLESS, ENDLESS - 1, memory), 0
    while num_steps < STEPS:
        trace = walker.walk(spot, 1000)
        num_steps += len(trace.actions)
        if trace.arm:
            return trace.arm, num_steps
        spot = spot._replace(memory=trace.memories[-1], position=int(trace.positions[-1]))
    return 0, 0


def list_crowds(walker: AbstractWalker, agent: networks.Agent) -> Iterator[tuple[Memories, tuple]]:
    """Crowds among the first memories after each cue, with what is said of them."""
    crowds = make_crowds(walker, agent, ENV[0])
    assert crowds is not None
    for goal in (-1, 1):
        memories = walker.walk(Spot(goal, ENDLESS), 200).memories
        lingering = memories[walker.decide(memories) == RIGHT]
        for crowd, *response in crowds.follow(lingering) if len(lingering) else ():
            yield lingering[crowd], tuple(response)


@pytest.mark.parametrize(("num_layers", "seeds"), [(1, (2, 7, 13, 21)), (3, (0, 1, 7, 11))])
@pytest.mark.parametrize("kind", [Walker, PortableWalker])
def test_each_of_a_crowd_does_the_same_alone(kind: type, num_layers: int, seeds: tuple[int, ...]):
    rng, arms, largest = np.random.default_rng(0), set(), 0
    for seed in seeds:
        agent = make_slow_agent(seed, num_layers)
        walker = kind(agent, ENV[0])
        for memories, response in list_crowds(walker, agent):
            arms.add(response[0])
            largest = max(largest, len(memories))
            if len(memories) > 1:
                for number in {0, len(memories) - 1, int(rng.integers(len(memories)))}:
                    assert follow(walker, memories[number]) == response
    assert arms == {-1, 0, 1}
    assert largest >= 40


@pytest.mark.parametrize(("num_layers", "seeds"), [(1, (1, 7, 21, 23)), (2, (8, 9, 15, 20))])
def test_courses_are_those_that_are_found_step_by_step(num_layers: int, seeds: tuple[int, ...]):
    num_compared = 0
    for seed in seeds:
        agent = make_slow_agent(seed, num_layers)
        walker = PortableWalker(agent, ENV[0])
        plain, quick = (
            chart(Itinerary(walker, 1, 20_000, at_once=True, crowds=crowds))
            for crowds in (None, make_crowds(walker, agent, ENV[0]))
        )
        if plain is not None:
            assert quick is not None
            np.testing.assert_array_equal(plain.arms, quick.arms)
            np.testing.assert_array_equal(plain.num_steps, quick.num_steps)
        num_compared += plain is not None
    assert num_compared >= 3


def chart(itinerary: Itinerary) -> Course | None:
    try:
        return chart_course(itinerary, 2_000)
    except Undecided:
        return None


@pytest.mark.parametrize("threshold", [0.5, 0.3, 0.1, 1e-2, 1e-5])
def test_who_turns_late_is_followed_until_then(threshold: float):
    agent = make_drifter(threshold)
    walker = PortableWalker(agent, ENV[0])
    crowds = make_crowds(walker, agent, ENV[0])
    assert crowds is not None
    memory = walker.walk(Spot(1, ENDLESS), 10).memories[-1]
    arm, num_steps = follow(walker, memory)
    assert arm == -1
    assert num_steps > 500
    assert not crowds.stays(memory)
    assert Itinerary(walker, 1, crowds=crowds).end(11, 100_000) == (-1, 10 + num_steps)


@pytest.mark.parametrize("kind", [Walker, PortableWalker])
def test_who_never_comes_to_rest_is_known_to_stay(kind: type):
    """It falls by ever less, for longer than it is followed, and stays above the threshold."""
    agent = make_drifter(threshold=-0.1, bias=11.0)
    walker = kind(agent, ENV[0])
    crowds = make_crowds(walker, agent, ENV[0])
    for goal in (-1, 1):
        assert Itinerary(walker, goal, 10_000, crowds=crowds).end(7, 10_000) == (0, 0)
    with pytest.raises(Undecided, match="lingers at the junction"):
        Itinerary(walker, 1, 10_000).end(7, 10_000)


def test_an_episode_of_a_million_steps_is_not_stepped_through(monkeypatch):
    agent = make_drifter(threshold=-0.1, bias=14.0)
    taken = []

    def walk(self, spot, num_steps):
        taken.append(num_steps)
        return original(self, spot, num_steps)

    original = Walker.walk
    monkeypatch.setattr(Walker, "walk", walk)
    episodes = list(ExactEvaluator(ENV[0], limit_factor=100_000).run(agent, [10]))
    assert [episode.end for episode in episodes] == ["timeout"] * 2
    assert sum(taken) < 10_000


@pytest.mark.parametrize("cell", ["gru", "bmru", "hybrid"])
def test_other_cells_have_none(cell: str):
    agent = make_agent(cell, 0)
    assert make_crowds(PortableWalker(agent, ENV[0]), agent, ENV[0]) is None


def test_who_sees_its_action_has_none():
    agent = make_agent("mingru", 0, previous_action=True)
    environment, _ = envs.make("tmaze", previous_action=True)
    assert make_crowds(PortableWalker(agent, environment), agent, environment) is None


def test_on_other_processors_the_portable_program_alone_has_them(monkeypatch):
    """What a compiled program rounds there is not what intervals allow for."""
    agent = make_drifter(threshold=0.1)
    compiled, portable = Walker(agent, ENV[0]), PortableWalker(agent, ENV[0])
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    assert make_crowds(compiled, agent, ENV[0]) is None
    assert make_crowds(portable, agent, ENV[0]) is not None


def test_the_checker_finds_it_too(tmp_path):
    """A walk of its own would be longer than it looks at."""
    agent = make_drifter(threshold=-0.1, bias=14.0)
    agent.save(tmp_path / "agent.safetensors")
    certify(agent, ENV, budget=50_000).save(tmp_path / "certificate.json")
    found = check(tmp_path / "certificate.json", tmp_path / "agent.safetensors")
    statements = {it.name: it for it in found.statements if it.part == "portable"}
    assert statements["solved"].status == "verified"
    assert statements["solved"].says == "right arm in time: no length"
