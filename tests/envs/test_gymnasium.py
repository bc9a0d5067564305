"""The Gymnasium interface, against Gymnasium's own checker and its `SyncVectorEnv`."""

import dataclasses
import functools
import subprocess
import sys
from typing import Any, ClassVar

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import RecordEpisodeStatistics
from jaxtyping import Array, Float, Int

import remanence  # noqa: F401
from remanence import envs
from remanence.envs import AbstractEnvironment, GymnasiumEnv, GymnasiumVectorEnv
from remanence.envs import _gymnasium_arguments as arguments
from remanence.errors import (
    InvalidOptionError,
    MissingDependencyError,
    RemanenceError,
    UnknownNameError,
)

IDS = ("remanence/TMaze-v0", "remanence/LookupTreeMaze-v0")


class DriftParams(eqx.Module):
    scale: Float[Array, "..."]

    def __init__(self, scale=1.0):
        self.scale = jnp.asarray(scale, jnp.float32)


class DriftState(eqx.Module):
    time: Int[Array, ""]
    place: Float[Array, ""]


@dataclasses.dataclass(frozen=True)
class Drift(AbstractEnvironment):
    """Somebody's own environment, whose steps are random, not its starts alone."""

    params_class: ClassVar[type] = DriftParams

    @property
    def num_actions(self):
        return 2

    @property
    def observation_bounds(self):
        return np.array([-1e3], np.float32), np.array([1e3], np.float32)

    def start(self, key, params):
        return DriftState(jnp.zeros((), jnp.int32), params.scale * jax.random.normal(key))

    def advance(self, key, state, action, params):
        push = params.scale * jax.random.normal(key) + action.astype(jnp.float32)
        state = DriftState(state.time + 1, state.place + push)
        return state, push, state.place > 3, state.time >= 9

    def observe(self, state):
        return state.place[None]


@pytest.fixture
def drift():
    envs.register("drift", Drift)
    yield "drift"
    envs.registry.unregister("drift")


MODELS = {
    "tmaze": (envs.make, ("tmaze",), {"length": (1, 4), "time_limit_factor": 2}),
    "lookup": (envs.make, ("lookup-tree-maze",), {"num_mazes": (1, 3), "previous_action": True}),
    "drift": (lambda: (Drift(), DriftParams(0.5)), (), {}),
}


@pytest.fixture(params=MODELS)
def pair(request):
    make, positional, options = MODELS[request.param]
    return make(*positional, **options)


def make_both(pair, num_envs, mode):
    ours = GymnasiumVectorEnv(pair, num_envs, autoreset_mode=mode)
    return ours, SyncVectorEnv([lambda: GymnasiumEnv(pair)] * num_envs, autoreset_mode=mode)


def assert_same(ours, theirs):
    """Equal to the bit, down to dtypes and the keys of the infos."""
    if isinstance(theirs, dict):
        assert ours.keys() == theirs.keys()
        for key, value in theirs.items():
            assert_same(ours[key], value)
        return
    assert ours.dtype == theirs.dtype
    assert ours.shape == theirs.shape
    if theirs.dtype == object:
        for our, their in zip(ours, theirs, strict=True):
            assert (our is None) == (their is None)
            np.testing.assert_array_equal(our, their)
        return
    np.testing.assert_array_equal(ours, theirs)


def assert_same_results(ours, theirs):
    for our, their in zip(ours, theirs, strict=True):
        assert_same(our, their)


@pytest.mark.parametrize(("gymnasium_id", "previous_action"), [(IDS[0], False), (IDS[1], True)])
def test_passes_gymnasiums_checker(gymnasium_id, previous_action):
    check_env(gymnasium.make(gymnasium_id, previous_action=previous_action).unwrapped)


@pytest.mark.parametrize("mode", [AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP])
def test_a_vector_does_what_gymnasiums_own_vector_does(pair, mode):
    ours, theirs = make_both(pair, 3, mode)
    assert ours.metadata["autoreset_mode"] is mode
    assert_same_results(ours.reset(seed=7), theirs.reset(seed=7))
    num_ends = 0
    for actions in np.random.default_rng(0).integers(0, pair[0].num_actions, (200, 3)):
        results = ours.step(actions)
        assert_same_results(results, theirs.step(actions))
        num_ends += np.sum(results[2] | results[3])
    assert num_ends > 20
    assert_same_results(ours.reset(), theirs.reset())


def test_without_autoreset_the_caller_resets_whom_they_want(pair):
    ours, theirs = make_both(pair, 3, AutoresetMode.DISABLED)
    assert_same_results(ours.reset(seed=3), theirs.reset(seed=3))
    for actions in np.random.default_rng(1).integers(0, pair[0].num_actions, (100, 3)):
        results = ours.step(actions)
        assert_same_results(results, theirs.step(actions))
        ended = results[2] | results[3]
        if ended.any():
            options = {"reset_mask": ended}
            assert_same_results(ours.reset(options=dict(options)), theirs.reset(options=options))


@pytest.mark.parametrize("seed", [5, [5, 9, 2**63], [1, None, 3]])
def test_seeds_are_those_of_gymnasiums_vector(seed):
    pair = envs.make("lookup-tree-maze", table_size=12)
    ours, theirs = make_both(pair, 3, AutoresetMode.NEXT_STEP)
    resets: list[Any] = [[4, 4, 4], seed, None]
    for seeds in resets:
        assert_same_results(ours.reset(seed=seeds), theirs.reset(seed=seeds))


def test_different_seeds_give_different_episodes():
    vector = GymnasiumVectorEnv("lookup-tree-maze", 3, table_size=12)
    observations = [vector.reset(seed=seed)[0] for seed in (0, 3, 2**32, 2**33, None, None)]
    assert len({tuple(row) for row in np.concatenate(observations)}) == 18


def test_unseeded_environments_differ():
    first, second = (GymnasiumEnv("lookup-tree-maze", table_size=12) for _ in range(2))
    assert not np.array_equal(first.reset()[0], second.reset()[0])


def test_make_vec_steps_thousands():
    vector = gymnasium.make_vec(IDS[0], num_envs=2000, length=3, autoreset_mode="SameStep")
    assert vector.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    observations, _ = vector.reset(seed=0)
    assert observations in vector.observation_space
    observations, rewards, terminated, truncated, infos = vector.step(vector.action_space.sample())
    assert observations in vector.observation_space
    assert (rewards.dtype, terminated.dtype, truncated.dtype) == (float, bool, bool)
    assert infos == {}


def test_gymnasiums_vector_wrappers_work():
    vector = gymnasium.make_vec(IDS[0], num_envs=3, length=1, autoreset_mode="SameStep")
    vector = RecordEpisodeStatistics(vector)
    vector.reset(seed=0)
    *_, infos = vector.step(np.array([1, 3, 0]))
    np.testing.assert_array_equal(infos["episode"]["l"], [1, 1, 0])


def test_an_option_can_differ_between_the_members_of_a_vector():
    lengths = np.array([2, 5, 9])
    ours = GymnasiumVectorEnv("tmaze", 3, length=lengths, time_limit_factor=1)
    theirs = SyncVectorEnv(
        [lambda n=n: GymnasiumEnv("tmaze", length=n, time_limit_factor=1) for n in (2, 5, 9)]
    )
    assert_same_results(ours.reset(seed=0), theirs.reset(seed=0))
    for _ in range(20):
        right = np.zeros(3, int)
        assert_same_results(ours.step(right), theirs.step(right))


def test_results_belong_to_the_caller():
    vector = GymnasiumVectorEnv("tmaze", 3, length=4)
    observations, _ = vector.reset(seed=0)
    kept, _ = vector.reset(seed=0)
    observations += 1
    stepped = vector.step(np.zeros(3, int))
    for array in stepped[:4]:
        array[:] = 1
    np.testing.assert_array_equal(vector.reset(seed=0)[0], kept)
    assert not vector.step(np.zeros(3, int))[2].any()


def test_a_second_environment_compiles_nothing(monkeypatch):
    def play(length):
        for env in (GymnasiumEnv("tmaze", length=length), GymnasiumVectorEnv("tmaze", 3)):
            env.reset(seed=0)
            env.step(np.zeros_like(env.action_space.sample()))

    play(length=5)
    for method in ("start", "advance", "observe"):
        monkeypatch.setattr(envs.TMaze, method, None)  # whoever traces it now has to fail
    play(length=(6, 8))


def test_a_registered_environment_and_a_pair_are_the_same(drift):
    first = GymnasiumEnv(drift, scale=2.0)
    second = GymnasiumEnv((Drift(), DriftParams(2.0)))
    np.testing.assert_array_equal(first.reset(seed=1)[0], second.reset(seed=1)[0])
    np.testing.assert_array_equal(first.step(1)[0], second.step(1)[0])


def test_a_random_step_is_drawn_anew(drift):
    env = GymnasiumEnv(drift)
    env.reset(seed=1)
    pushes = [env.step(0)[1] for _ in range(3)]
    assert len(set(pushes)) == 3


@pytest.mark.parametrize("action", [-1, 4, 1.0, True, "up", [0], None, np.array([1, 2])])
def test_an_impossible_action_is_refused(action):
    env = gymnasium.make(IDS[0], length=3)
    env.reset(seed=0)
    with pytest.raises(InvalidOptionError, match="use integers from 0 to 3"):
        env.step(action)


@pytest.mark.parametrize(
    ("actions", "complaint"),
    [
        ([0, 1, 4], "the action of environment 2 = 4"),
        ([0, -7, 1], "the action of environment 1 = -7"),
        ([0.0, 1.0, 2.0], "float64"),
        ([0, 1], r"\(2,\) is not possible.* of shape \(3,\)"),
        (1, r"the shape of the action = \(\)"),
        ([[0], [1, 2], 3], "use integers"),
    ],
)
def test_impossible_actions_are_refused(actions, complaint):
    vector = GymnasiumVectorEnv("tmaze", 3)
    vector.reset(seed=0)
    with pytest.raises(InvalidOptionError, match=complaint):
        vector.step(actions)


@pytest.mark.parametrize("action", [2, np.int64(2), np.uint8(2), np.array(2), jnp.int32(2)])
def test_any_integer_is_an_action(action):
    env = GymnasiumEnv("tmaze")
    env.reset(seed=0)
    assert env.step(action)[1] == 0.0


@pytest.mark.parametrize("maker", [gymnasium.make, gymnasium.make_vec])
@pytest.mark.parametrize(
    ("options", "error", "complaint"),
    [
        ({"length": 0}, InvalidOptionError, "length = 0"),
        ({"lenght": 3}, UnknownNameError, "Did you mean 'length'"),
        ({"length": [3, 4, 5]}, InvalidOptionError, "length"),
        ({"length": np.array([3, 4, 5])}, InvalidOptionError, "give one number"),
    ],
)
def test_a_bad_option_is_refused(maker, options, error, complaint):
    with pytest.raises(error, match=complaint):
        maker(IDS[0], **options)


@pytest.mark.parametrize(
    "options",
    [
        {"num_envs": 0},
        {"autoreset_mode": "sometimes"},
        {"render_mode": "human"},
        {"length": np.array([1, 2])},
    ],
)
def test_a_bad_option_of_a_vector_is_refused(options):
    with pytest.raises(InvalidOptionError):
        functools.partial(GymnasiumVectorEnv, "tmaze", num_envs=3)(**options)


def test_an_unknown_environment_is_answered_with_the_nearest():
    with pytest.raises(UnknownNameError, match="Did you mean 'tmaze'"):
        GymnasiumEnv("t-maze")
    with pytest.raises(InvalidOptionError, match="give them to `make`"):
        GymnasiumEnv(envs.make("tmaze"), length=3)


def test_an_unknown_render_mode_is_refused():
    with pytest.raises(InvalidOptionError, match="use 'ansi' or 'rgb_array'"):
        GymnasiumEnv("tmaze", render_mode="hologram")


@pytest.mark.parametrize("seed", [-1, 2**64, True])
def test_a_bad_seed_is_refused(seed):
    for env in (GymnasiumEnv("tmaze"), GymnasiumVectorEnv("tmaze", 3)):
        with pytest.raises(RemanenceError, match="seed"):
            env.reset(seed=seed)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"seed": [1, 2]}, "the number of seeds = 2"),
        ({"options": {"reset_maks": None}}, "Did you mean 'reset_mask'"),
        ({"options": {"reset_mask": [1, 0]}}, "boolean array of shape"),
        ({"options": {"reset_mask": np.zeros(3, bool)}}, "true somewhere"),
    ],
)
def test_a_bad_reset_of_a_vector_is_refused(arguments, complaint):
    vector = GymnasiumVectorEnv("tmaze", 3)
    with pytest.raises(RemanenceError, match=complaint):
        vector.reset(**arguments)


# Shape checking is on in tests and would answer before these do, so they are asked themselves.
@pytest.mark.parametrize(
    ("read", "received"),
    [
        (arguments.read_seed, 1.5),
        (arguments.read_num_envs, 2.0),
        (lambda name: arguments.read_environment(name, {}), envs.TMaze()),
        (lambda seed: arguments.read_seeds(seed, 3), "one"),
    ],
)
def test_a_value_of_a_wrong_type_is_refused(read, received):
    with pytest.raises(InvalidOptionError):
        read(received)


def test_a_reset_takes_no_options():
    with pytest.raises(InvalidOptionError, match="when the environment is made"):
        GymnasiumEnv("tmaze").reset(options={"length": 3})


@pytest.mark.parametrize("env", [GymnasiumEnv("tmaze"), GymnasiumVectorEnv("tmaze", 1)])
def test_a_step_before_the_reset_is_refused(env):
    with pytest.raises(RemanenceError, match=r"call reset\(\) first"):
        env.step(env.action_space.sample())


def test_a_step_after_the_end_is_refused():
    env = GymnasiumEnv("tmaze", length=1)
    env.reset(seed=0)
    assert env.step(1)[2]
    with pytest.raises(gymnasium.error.ResetNeeded, match=r"call reset\(\)"):
        env.step(1)
    env.reset()
    env.step(1)


def test_without_autoreset_an_ended_episode_cannot_go_on():
    vector = GymnasiumVectorEnv("tmaze", 3, length=1, autoreset_mode=AutoresetMode.DISABLED)
    vector.reset(seed=0)
    vector.step(np.array([0, 1, 0]))
    with pytest.raises(RemanenceError, match=r"environments \[1\]"):
        vector.step(np.array([0, 1, 0]))


def test_gymnasium_can_be_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    monkeypatch.delitem(sys.modules, "remanence.envs._gymnasium")
    with pytest.raises(MissingDependencyError, match=r"pip install '\.\[gymnasium\]'"):
        _ = envs.GymnasiumEnv


@pytest.mark.parametrize(
    "program",
    [
        "import sys, remanence; assert 'jax' not in sys.modules; import gymnasium; name = ''",
        "import gymnasium, remanence; name = ''",
        "import gymnasium; name = 'remanence:'",
    ],
    ids=["remanence first", "gymnasium first", "gymnasium alone"],
)
def test_environments_are_known_by_name_in_a_fresh_process(program):
    program += """
env = gymnasium.make(name + "remanence/TMaze-v0", length=10)
print(env.unwrapped.params.length_low)
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "10\n"), done.stderr
