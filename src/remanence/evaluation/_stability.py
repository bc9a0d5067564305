"""How multistable an agent is: the VAA of its idle map, from the states that the cues leave."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from remanence.dynamics import TOLERANCE, VAA, IdleMap, compute_vaa, idle_map
from remanence.envs import AbstractEnvironment
from remanence.errors import MissingMethodError
from remanence.networks import Agent, check_fits

NUM_STEPS = 10_000


def make_idle_map(agent: Agent, environment: AbstractEnvironment) -> tuple[IdleMap, np.ndarray]:
    """The agent's idle map U in float64, and the states (cues, state) that its cues leave.

    U is one step of the agent's memory, (state,) to (state,), under the idle observation.

    >>> from pathlib import Path
    >>> from remanence import dynamics, evaluation, training
    >>> run = training.RunDirectory(Path("examples/agents/mingru"))
    >>> agent, (environment, _) = run.load_agents()[1], run.load_environment()
    >>> step, starts = evaluation.make_idle_map(agent, environment)
    >>> starts.shape, dynamics.list_cycle(step, starts[0], 10).shape
    ((2, 5), (10, 5))
    """
    check_fits(agent, environment)
    cues, idle = environment.cue_observations(), environment.idle_observation()
    if cues is None or idle is None:
        method = "idle_observation" if idle is None else "cue_observations"
        need = "without which there is no saying how stable a memory is"
        raise MissingMethodError(type(environment.unwrapped).__name__, method, need)
    with jax.enable_x64(True):
        policy = jax.tree.map(
            lambda leaf: leaf.astype(jnp.float64) if eqx.is_inexact_array(leaf) else leaf,
            agent.policy,
        )
        observations = jnp.asarray(cues, jnp.float64)
        _, starts = jax.vmap(policy.step, in_axes=(0, None))(observations, policy.initial_state())
        features = policy.encode(jnp.asarray(idle, jnp.float64))
        return idle_map(policy.cell, np.asarray(features)), np.asarray(starts)


def measure_stability(
    agent: Agent,
    environment: AbstractEnvironment,
    *,
    num_steps: int = NUM_STEPS,
    tolerance: float = TOLERANCE,
) -> VAA:
    """The variability among attractors (paper, appendix "Computation of the VAA").

    With two cues 1 means that they end in different states, and 0.5 that they end in one.
    The number of steps and the tolerance are our choice; the paper does not give them.

    >>> from pathlib import Path
    >>> from remanence import evaluation, training
    >>> run = training.RunDirectory(Path("examples/agents/mingru"))
    >>> agent, (environment, _) = run.load_agents()[1], run.load_environment()
    >>> vaa = evaluation.measure_stability(agent, environment)
    >>> vaa.value, vaa.num_attractors
    (0.5, 1)
    """
    step, starts = make_idle_map(agent, environment)
    return compute_vaa(step, starts, num_steps=num_steps, tolerance=tolerance)


def name_stability(vaa: VAA) -> str:
    """ "monostable" if all cues end together, else "multistable"; "bistable" of two cues.

    The limit decides where it is known, else the VAA itself. The two differ where a memory fades
    for longer than the steps that were taken. States that are no finite numbers are neither.

    >>> from remanence import dynamics, evaluation
    >>> vaa = dynamics.compute_vaa(lambda state: state, np.array([[-1.0], [1.0]]), num_steps=10)
    >>> evaluation.name_stability(vaa)
    'bistable'
    """
    if not np.isfinite(vaa.final_states).all():
        return "not finite"
    lowest = 1 / len(vaa.groups)
    if math.isclose(vaa.value if vaa.limit is None else vaa.limit, lowest):
        return "monostable"
    return "bistable" if len(vaa.groups) == 2 else "multistable"
