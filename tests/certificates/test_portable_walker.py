import numpy as np
import pytest

from remanence import envs
from remanence.certificates._arrivals import Undecided
from remanence.certificates._portable_walker import PortableWalker
from remanence.certificates._walker import TAPE_ROWS, Spot
from remanence.portable._arithmetic import NUM_PRODUCTS
from tests.certificates import high_precision as precise
from tests.certificates.agents import CELLS, load_walker, make_agent
from tests.checker.programs import SHAPES, Subject

NO_ACTION = 2**32 - 1


def step_by_step(policy, spot, num_steps, sees_action):
    """The same walk, one observation at a time, in a maze written out."""
    first, end = spot.memory is None, spot.length - 1
    state = None if first else np.array(spot.memory[:-1]).view(policy.dtype)
    action = NO_ACTION if first else int(spot.memory[-1])
    position, walked = spot.position, []
    for _ in range(num_steps):
        junction = position == end
        observation = [float(spot.goal) if first else 0.0, float(junction)]
        if sees_action:
            observation += [float(action == number) for number in range(4)]
        action, state = policy.act(observation, state, first)
        first, arm = False, {1: -1, 3: 1}.get(action, 0) if junction else 0
        if action == 0 and not junction:
            position += 1
        elif action == 2 and position:
            position -= 1
        walked.append((state, action, position, arm))
        if arm:
            break
    return walked


def check_walk(agent, spot, num_steps, sees_action=False):
    """Compare both; returns the memory at the end, and what happened on the way."""
    walker = PortableWalker(agent, envs.make("tmaze", previous_action=sees_action)[0])
    trace = walker.walk(spot, num_steps)
    plain = step_by_step(agent.make_portable(), spot, num_steps, sees_action)
    states, actions, positions, arms = zip(*plain, strict=True)
    walked = np.stack([walker.read_state(memory) for memory in trace.memories])
    np.testing.assert_array_equal(walked.view(np.uint32), np.stack(states).view(np.uint32))
    np.testing.assert_array_equal(trace.memories[:, -1], actions)
    np.testing.assert_array_equal(trace.actions, actions)
    np.testing.assert_array_equal(trace.positions, positions)
    assert trace.arm == arms[-1]
    places = (position == spot.length - 1 for position in positions)
    return trace.memories[-1], set(zip(actions, places, strict=True))


@pytest.mark.parametrize("sees_action", [False, True])
@pytest.mark.parametrize("cell", CELLS)
def test_walks_are_those_of_single_steps(cell, sees_action):
    events = set()
    for seed in range(6):
        agent = make_agent(cell, seed, sees_action)
        for goal, length in ((-1, 1), (1, 2), (-1, 7), (1, 40)):
            memory, seen = check_walk(agent, Spot(goal, length), 100, sees_action)
            events |= seen
            place = Spot(goal, 5, 4, memory)  # at a junction, with what it has in mind
            events |= check_walk(agent, place, 33, sees_action)[1]
    assert len(events) >= 6  # pairs of an action and whether it was, or led, to the junction


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape.startswith("deep")])
def test_walks_of_stacks_are_those_of_single_steps(shape, tmp_path):
    subject = Subject(shape, seed=1)
    agent = load_walker((subject.arrays, subject.architecture), tmp_path)
    for goal in (-1, 1):
        memory, _ = check_walk(agent, Spot(goal, 2**20), 300)
        check_walk(agent, Spot(goal, 9, 8, memory), 50)


def test_a_long_walk_is_that_of_single_steps():
    """Longer than what is guessed at once, with rows of states that are multiplied in parts."""
    assert NUM_PRODUCTS // (20 * 5) < 3 * TAPE_ROWS
    check_walk(make_agent("gru", 0), Spot(1, 2**20), 3 * TAPE_ROWS)


def test_only_what_is_reached_has_to_be_finite(tmp_path):
    """The state of one unit grows in the corridor, and its logits overflow in the seventh step."""
    described = precise.describe("mingru", 1, head=[1])
    arrays = {
        "policy.cell.inputs.weight": [[[0, -100]], [[0, -1]]],
        "policy.cell.inputs.bias": [[np.log(9)], [1]],
        "policy.head.0.weight": [[4]],
        "policy.head.0.bias": [0],
        "policy.output.weight": [[1.9335e38], [0], [0], [0]],
        "policy.output.bias": [0, 0, 0, 0],
    }
    numbers = {name: np.array(array, np.float32) for name, array in arrays.items()}
    walker = PortableWalker(load_walker((numbers, described), tmp_path), envs.make("tmaze")[0])
    for length in (4, 5, 6):
        assert len(walker.walk(Spot(1, length), 20).actions) == 20
    with pytest.raises(Undecided, match="not finite"):
        walker.walk(Spot(1, 7), 20)
