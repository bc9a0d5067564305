"""One iteration of a training: the same for every engine, however its parts are compiled."""

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

from remanence.training._learner import Learner, LearnerState, Metrics
from remanence.training._plan import Planner
from remanence.training._replays import AbstractReplay, Experience, Played

Improve = Callable[[LearnerState, Experience, AbstractReplay], tuple[LearnerState, Metrics]]


class Iteration(NamedTuple):
    """The parts of an iteration, as functions of JAX or as programs compiled from them.

    `plan` gets what `play` returns last, and is the only part that may be for the host alone.
    """

    play: Callable[[LearnerState, Any], tuple[LearnerState, Played, Metrics, Any]]
    plan: Callable[[Played, Any], AbstractReplay]
    judge: Callable[[LearnerState, Played, AbstractReplay], tuple[LearnerState, Experience]]
    improve_policy: Improve
    improve_value: Improve

    def run(self, state: LearnerState, params: Any) -> tuple[LearnerState, Metrics]:
        """Collect one rollout, then improve the policy and the value network on it."""
        state, played, metrics, hashes = self.play(state, params)
        replay = self.plan(played, hashes)
        state, experience = self.judge(state, played, replay)
        state, policy_metrics = self.improve_policy(state, experience, replay)
        state, value_metrics = self.improve_value(state, experience, replay)
        state = dataclasses.replace(state, iteration=state.iteration + 1)
        return state, metrics | policy_metrics | value_metrics


def make_iteration(learner: Learner, replay: str = "sequence") -> Iteration:
    """The iteration of a learner; with sequences alone, all of it can be traced."""
    planner = Planner(
        learner.config,
        num_actions=learner.sizes[1],
        dropout=learner.architecture.dropout > 0,
        linear=learner.cell.linear,
        state_size=learner.cell.state_size,
        replay=replay,
    )

    def play(state: LearnerState, params: Any) -> tuple[LearnerState, Played, Metrics, Any]:
        state, played, metrics = learner.play(state, params)
        return state, played, metrics, planner.hash(played)

    return Iteration(
        play, planner.plan, learner.judge, learner.improve_policy, learner.improve_value
    )
