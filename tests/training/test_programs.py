"""Compiled programs are shared by threads and trainings, and never by what is not the same."""

import threading
from concurrent.futures import ThreadPoolExecutor

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from remanence import envs
from remanence.networks import make_architecture
from remanence.training import PPOConfig, change_config, train
from remanence.training._programs import KeptPrograms, Profile, Program

CONFIG = PPOConfig(num_envs=4, num_steps=9, num_iterations=2, policy_epochs=1, value_epochs=1)
NETWORK = make_architecture("tmaze", cell="mingru", state_size=3, head=())


@pytest.fixture(scope="module")
def compilations():
    """The events of all that XLA compiles or reads from its cache, in whichever thread."""
    events = []

    def listen(event: str, duration_secs: float, **kwargs: str | int) -> None:
        if event == "/jax/core/compile/backend_compile_duration":
            events.append(duration_secs)

    jax.monitoring.register_event_duration_secs_listener(listen)
    return events


def train_once(batching, length=(1, 3), **changes):
    env = envs.make("tmaze", length=length)
    return train(env, NETWORK, change_config(CONFIG, changes), [1, 2], batching=batching)


@pytest.mark.parametrize("batching", ["cores", "vmap"])
def test_a_second_training_compiles_nothing(compilations, batching):
    first = train_once(batching)
    assert compilations
    compilations.clear()
    again = train_once(batching)
    # What is only a number to the programs, or no part of them, may differ.
    train_once(batching, num_iterations=1)
    train_once(batching, length=(2, 3))
    assert not compilations
    assert "compile" not in again.seconds
    jax.tree.map(np.testing.assert_array_equal, first.agents, again.agents)


def test_another_configuration_is_compiled_for(compilations):
    usual = train_once("vmap")
    compilations.clear()
    other = train_once("vmap", clip_range=0.0, entropy_coefficient=0.5)
    assert compilations
    ours, theirs = (training.agents[1].policy.output.weight for training in (usual, other))
    assert not np.array_equal(ours, theirs)


def test_trainings_in_threads_share_programs_and_give_the_same():
    alone = train_once("cores")
    with ThreadPoolExecutor(3) as pool:
        together = list(pool.map(lambda _: train_once("cores"), range(3)))
    for training in together:
        jax.tree.map(np.testing.assert_array_equal, alone.agents, training.agents)


def test_the_programs_used_last_are_kept():
    kept, compiled = KeptPrograms(most=2), []

    def get(name):
        return kept.get(name, lambda: compiled.append(name) or name.upper())

    assert [get(name) for name in ("a", "b", "a", "c", "a", "b")] == list("ABACAB")
    assert compiled == ["a", "b", "c", "b"]
    assert len(kept) == 2


def test_of_many_threads_one_compiles():
    kept, compiled = KeptPrograms(most=2), []
    barrier = threading.Barrier(8)

    def compile_slowly():
        compiled.append(threading.get_ident())
        threading.Event().wait(0.05)
        return "program"

    def ask(_):
        barrier.wait()
        return kept.get("key", compile_slowly)

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, range(8))) == ["program"] * 8
    assert len(compiled) == 1


def test_what_failed_to_compile_is_tried_again():
    kept = KeptPrograms(most=2)

    def fail():
        raise ValueError("not today")

    with pytest.raises(ValueError, match="not today"):
        kept.get("key", fail)
    assert kept.get("key", lambda: "program") == "program"


def test_functions_share_programs_only_if_they_say_so():
    def run(factor, identity):
        program = Program(lambda x: factor * x, "test", profile=Profile(), identity=identity)
        return float(program(jnp.float32(1)))

    assert (run(2, None), run(3, None)) == (2, 3)
    assert (run(4, "mine"), run(5, "mine"), run(5, "other")) == (4, 4, 5)
