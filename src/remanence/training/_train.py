"""Training from start to end: many seeds, progress, checkpoints, resuming."""

import contextlib
import dataclasses
import functools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from remanence._numbers import check_whole
from remanence.envs import AbstractEnvironment
from remanence.errors import InvalidOptionError, StoreError
from remanence.networks import Agent, Architecture
from remanence.store import hold_directory, remove_leftovers
from remanence.training._config import PPOConfig
from remanence.training._description import describe_run
from remanence.training._engines import AbstractEngine, choose_batching, make_engine
from remanence.training._learner import Learner, LearnerState
from remanence.training._limits import check_memory, check_seeds
from remanence.training._run import Curves, RunDirectory


@dataclasses.dataclass(frozen=True)
class Progress:
    """What is known after an iteration; `metrics` have one entry for each seed.

    >>> from remanence import training
    >>> metrics = {"return": np.array([0.5, 1.0])}
    >>> progress = training.Progress(1, 250, metrics, seconds=0.1, steps=1000)
    >>> f"{progress.iteration} of {progress.num_iterations}: {progress.metrics['return'].mean()}"
    '1 of 250: 0.75'
    """

    iteration: int
    num_iterations: int
    metrics: Mapping[str, np.ndarray]
    seconds: float
    steps: int


@dataclasses.dataclass(frozen=True)
class Training:
    """What a training gives: an agent for each seed, and curves (iterations, seeds) by metric.

    `seconds` says where its time went, by phase and added up over threads.

    >>> from remanence import training
    >>> curves = {"return": np.array([[0.5], [1.0]])}
    >>> made = training.Training(agents={}, curves=curves, finished=True, seconds={"play": 0.1})
    >>> made.curves["return"][-1].tolist()
    [1.0]
    """

    agents: dict[int, Agent]
    curves: Curves
    finished: bool
    seconds: Mapping[str, float]


def train(
    env: AbstractEnvironment | tuple[AbstractEnvironment, Any],
    network: Architecture,
    config: PPOConfig | None = None,
    seeds: Sequence[int] = (1,),
    *,
    out: str | Path | None = None,
    resume: bool = False,
    batching: str = "auto",
    checkpoint_every: int = 5,
    labels: Mapping[str, Any] | None = None,
    command: Sequence[str] | None = None,
    on_iteration: Callable[[Progress], Any] = lambda progress: None,
    should_stop: Callable[[], bool] = lambda: False,
) -> Training:
    """Train one agent for each seed by recurrent PPO.

    `env` is an environment, or the pair that `envs.make` returns. With `out`, the run is written to
    that directory, with a checkpoint every `checkpoint_every` iterations; with `resume`, a run that
    was stopped or killed there goes on, and ends as if it had never been interrupted.
    `labels` name the training (`preset`), its network (`network`) and what was changed of them
    (`changes`) in the run's description, which also keeps the `command` line, if there was one.
    `should_stop` is asked after every iteration.

    >>> from pathlib import Path
    >>> from remanence import envs, networks, training
    >>> env = envs.make("lookup-tree-maze")
    >>> network = networks.Architecture(cell="mingru", state_size=2, head=[])
    >>> config = training.PPOConfig(num_envs=2, num_steps=8, num_iterations=1)
    >>> made = training.train(env, network, config, seeds=[1], out="run")
    >>> made.finished, list(made.agents), made.curves["return"].shape
    (True, [1], (1, 1))
    >>> training.RunDirectory(Path("run")).load_agents()[1].architecture == network
    True
    """
    environment, params = _check_environment(env)
    config = config or PPOConfig()
    seeds = check_seeds(seeds)
    check_whole("checkpoint_every", checkpoint_every, 1)
    if resume and out is None:
        raise InvalidOptionError("resume", resume, "say with `out` which directory to resume")
    learner = Learner(environment, network, config)
    batching = choose_batching(batching)
    # What cannot be trained shows here, before anything is written.
    check_memory(learner, len(seeds))
    shapes = _shape_of_states(learner, params, len(seeds))
    engine = make_engine(learner, params, batching)
    description = functools.partial(
        describe_run, environment, params, learner, seeds, batching, labels or {}, command
    )
    with _open_run(out, resume, description) as run:
        curves = _begin_or_resume(engine, shapes, run, seeds, resume)
        for progress in _iterate(engine, config, curves, len(seeds)):
            _append_metrics(curves, progress.metrics)
            on_iteration(progress)
            if should_stop():
                break
            if run and progress.iteration % checkpoint_every == 0:
                run.save_checkpoint(engine.get_states(), curves)
                run.save_curves(seeds, curves)
        return _finish(engine, learner, run, seeds, curves)


def _check_environment(env: Any) -> tuple[AbstractEnvironment, Any]:
    environment = env[0] if isinstance(env, tuple) and len(env) == 2 else env
    if not isinstance(environment, AbstractEnvironment):
        raise InvalidOptionError("env", env, "give an environment, or what `envs.make` returns")
    params = env[1] if isinstance(env, tuple) else environment.default_params
    shapes = _list_shapes(params)
    if shapes != _list_shapes(environment.default_params):
        raise InvalidOptionError(
            "env", shapes, "parameters must be those of one environment; every member shares them"
        )
    return environment, params


def _list_shapes(params: Any) -> list[tuple[int, ...]]:
    """The shape of each parameter; what is left out, as None, is one number."""
    leaves = jax.tree.leaves(params, is_leaf=lambda leaf: leaf is None)
    return [() if leaf is None else jnp.shape(leaf) for leaf in leaves]


@contextlib.contextmanager
def _open_run(
    out: str | Path | None, resume: bool, description: Callable[[], dict[str, Any]]
) -> Iterator[RunDirectory | None]:
    """The run's directory, held against others; or nothing, where nothing is to be written."""
    if out is None:
        yield None
        return
    run = RunDirectory(Path(out))
    run.refuse_leftovers()
    if resume and not run.exists:
        raise StoreError(run.path, "there is no run here to resume", "check the path")
    with hold_directory(run.path):
        remove_leftovers(run.path)
        (run.check if resume else run.create)(description())
        yield run


def _begin_or_resume(
    engine: AbstractEngine,
    shapes: LearnerState,
    run: RunDirectory | None,
    seeds: list[int],
    resume: bool,
) -> Curves:
    """Put the engine where the run stands, and return the curves so far."""
    checkpoint = run.load_checkpoint(shapes) if run and resume else None
    if checkpoint is None:
        engine.begin(seeds)
        return {}
    states, curves = checkpoint
    engine.set_states(states)
    return curves


def _shape_of_states(learner: Learner, params: Any, count: int) -> LearnerState:
    one = jax.eval_shape(learner.begin, jax.ShapeDtypeStruct((), jnp.int32), params)
    return jax.tree.map(lambda leaf: jax.ShapeDtypeStruct((count, *leaf.shape), leaf.dtype), one)


def _iterate(
    engine: AbstractEngine, config: PPOConfig, curves: Curves, num_seeds: int
) -> Iterator[Progress]:
    done = len(next(iter(curves.values()))) if curves else 0
    for iteration in range(done + 1, config.num_iterations + 1):
        began = time.perf_counter()
        metrics = engine.iterate()
        yield Progress(
            iteration=iteration,
            num_iterations=config.num_iterations,
            metrics=metrics,
            seconds=time.perf_counter() - began,
            steps=num_seeds * config.num_envs * config.num_steps,
        )


def _append_metrics(curves: Curves, metrics: Mapping[str, np.ndarray]) -> None:
    for name, values in metrics.items():
        row = values.astype(np.float32)[None]
        curves[name] = np.concatenate([curves[name], row]) if name in curves else row


def _finish(
    engine: AbstractEngine,
    learner: Learner,
    run: RunDirectory | None,
    seeds: list[int],
    curves: Curves,
) -> Training:
    states = engine.get_states()
    agents = {}
    # On the host, where nothing is compiled to take one seed's arrays out of those of all.
    found = jax.tree.map(np.asarray, (states.policy, states.value))
    for index, seed in enumerate(seeds):
        weights = jax.tree.map(lambda leaf, index=index: jax.device_put(leaf[index]), found)
        agents[seed] = Agent(*learner.assemble(*weights), learner.architecture)
    if run:
        run.save_checkpoint(states, curves)
        run.save_curves(seeds, curves)
        for seed, agent in agents.items():
            run.save_agent(seed, agent)
    done = len(next(iter(curves.values()))) if curves else 0
    finished = done == learner.config.num_iterations
    return Training(agents, curves, finished, engine.profile.seconds)
