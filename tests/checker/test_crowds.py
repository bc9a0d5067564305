"""What the checker says of many memories at once is what its program does with each."""

import numpy as np
import pytest

from remanence.checker._crowds import Crowds, make_crowds
from remanence.checker._kernel import DOWN, UP
from remanence.checker._program import Program
from remanence.networks import Agent
from tests.certificates.test_crowds import make_slow_agent
from tests.checker.test_orbits import make_machine

STEPS = 5_000


def make_program(agent: Agent) -> tuple[Program, Crowds]:
    program = make_machine(agent, previous_action=False)._program
    crowds = make_crowds(program)
    assert crowds is not None
    return program, crowds


def follow(program: Program, state: np.ndarray) -> tuple[int, int]:
    look = program.look(0, 1, None)
    for num_steps in range(1, STEPS):
        state, logits = program.step(look, state)
        arm = {UP: -1, DOWN: 1}.get(int(logits.argmax()), 0)
        if arm:
            return arm, num_steps
    return 0, 0


@pytest.mark.parametrize(("num_layers", "seeds"), [(1, (2, 7, 13, 21)), (3, (0, 1, 7, 11))])
def test_each_of_a_crowd_does_the_same_alone(num_layers: int, seeds: tuple[int, ...]):
    arms, sizes = set(), []
    for seed in seeds:
        program, crowds = make_program(make_slow_agent(seed, num_layers))
        for cue in (-1, 1):
            state, states = program.update(program.look(cue, 0, None), program.start), []
            for _ in range(100):
                state = program.update(program.look(0, 0, None), state)
                states.append(state)
            for first, last, *response in crowds.settle(np.array(states)):
                arms.add(response[0])
                sizes.append(last - first)
                for number in {first, last - 1} if last > first + 1 else ():
                    assert follow(program, states[number]) == tuple(response)
    assert arms == {-1, 0, 1}
    assert max(sizes) >= 40
