"""What the checker finds of all lengths is what the producer finds, and what single episodes show.

Episodes are played one by one, each until it ends or is where it was before.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import numpy as np
import pytest

from remanence import envs
from remanence.certificates import _certify, find_portable
from remanence.checker import _lengths
from remanence.checker._findings import find
from remanence.checker._orbits import Machine
from remanence.checker._program import Program
from remanence.checker._weights import take_policy
from remanence.store import name_leaves
from tests.certificates.agents import CELLS, make_agent, solve_by_hand
from tests.certificates.automata import DOWN, LEFT, RIGHT, UP, Automaton

FACTORS = (None, 1, 2, 3, 10)
NUM_LENGTHS = 60
BUDGET, FEW = 5_000, 1_000
ARMS = {UP: -1, DOWN: 1}


def play(machine: Any, cue: int, length: int, most_steps: float) -> tuple[int, int]:
    """The arm that ends an episode, and after how many steps; (0, 0) if none does in time."""
    position, num_steps, known = 0, 0, set()
    memory = None
    while (memory, position) not in known and num_steps < most_steps:
        known.add((memory, position))
        at_junction = int(position == length - 1)
        opening = memory is None
        memory, action = (
            machine.open(cue, at_junction) if opening else machine.step(memory, at_junction)
        )
        num_steps += 1
        if at_junction and action in ARMS:
            return ARMS[action], num_steps
        move = {RIGHT: 1, LEFT: -1}.get(action, 0)
        position = min(max(position + move, 0), length - 1)
    return 0, 0


def list_right(machine: Any, factor: float) -> np.ndarray:
    """Whether the right arm is taken after both cues within so many steps per cell."""
    return np.array(
        [
            all(play(machine, cue, length, factor * length)[0] == cue for cue in (-1, 1))
            for length in range(1, NUM_LENGTHS + 1)
        ]
    )


def assert_played(machine: Any, found: dict[str, Any], factor: int | None) -> None:
    """What is found of the first lengths is what happens there."""
    for name, limit in (("solved", factor or np.inf), ("optimal", 1)):
        if found[name] is not None:
            listed = _lengths.read(found[name]).unfold(NUM_LENGTHS)[:NUM_LENGTHS]
            truth = list_right(machine, limit)
            np.testing.assert_array_equal(listed, truth, err_msg=f"{name}, {factor} steps per cell")


def make_machine(agent: Any, previous_action: bool) -> Machine:
    architecture = json.loads(agent.architecture.to_json())
    shape = {**architecture, "previous_action": previous_action}
    arrays = name_leaves({"policy": eqx.filter(agent.policy, eqx.is_array)})
    return Machine(Program(take_policy(arrays, shape), shape))


def assert_same(found: dict[str, Any], claimed: dict[str, Any]) -> None:
    """Field by field; where one of them looked longer, the other may have left it open."""
    claimed = {name: part for name, part in claimed.items() if name not in ("program", "budget")}
    assert found.keys() == claimed.keys()
    for name, part in claimed.items():
        one, other = (json.loads(json.dumps(it)) for it in (found[name], part))
        if name in ("solved", "failures") and None in (found["solved"], claimed["solved"]):
            continue
        assert one == other, name


KINDS = [(cell, previous_action) for cell in CELLS for previous_action in (False, True)]


@pytest.mark.parametrize(("cell", "previous_action"), KINDS)
def test_random_agents(cell: str, previous_action: bool):
    num_decided = 0
    for seed in range(5):
        agent = make_agent(cell, seed, previous_action, gain=(0.5, 1.0, 3.0)[seed % 3])
        machine, factor = make_machine(agent, previous_action), FACTORS[seed]
        env = envs.make("tmaze", previous_action=previous_action, time_limit_factor=factor)
        found = find(machine, factor, FEW)
        assert_same(found, find_portable(agent, env, budget=FEW).to_json())
        assert_played(machine, found, factor)
        num_decided += found["solved"] is not None
    assert num_decided >= 1


def test_an_agent_that_lasts():
    agent = solve_by_hand()
    machine = make_machine(agent, False)
    found = find(machine, 1, BUDGET)
    assert_same(found, find_portable(agent, envs.make("tmaze", time_limit_factor=1)).to_json())
    assert_played(machine, found, 1)
    assert found["solved"] == found["optimal"] == {"listed": 1, "period": 1, "runs": [[1, 1]]}


class Table(Machine):
    """An automaton behind the interface of the program; the last action belongs to a memory."""

    def __init__(self, automaton: Automaton):
        self.automaton, self.memories = automaton, []
        self.numbers: dict[tuple[int, int], int] = {}

    def open(self, cue: int, junction: int) -> tuple[int, int]:
        return self._number(*self.automaton.look(None, junction, cue))

    def step(self, memory: int, junction: int) -> tuple[int, int]:
        known = self.memories[memory][0]
        return self._number(*self.automaton.look(known, junction, 0))

    def turn(self, memories: Sequence[int]) -> list[int]:
        return [self.step(memory, 1)[1] for memory in memories]

    def look_together(self, memories: Sequence[int]) -> dict[int, tuple[int, int]]:
        return {}  # nothing is known of an automaton but its steps

    def state(self, memory: int) -> list[float]:
        return [float(self.memories[memory][0])]

    def _number(self, memory: int, action: int) -> tuple[int, int]:
        number = self.numbers.setdefault((memory, action), len(self.memories))
        if number == len(self.memories):
            self.memories.append((memory, action))
        return number, action


def check(automaton: Automaton, factors: Any = FACTORS) -> dict[str, Any]:
    found = {}
    for factor in factors:
        machine = Table(automaton)
        env = envs.make("tmaze", time_limit_factor=factor)
        found = find(machine, factor, BUDGET)
        assert_same(found, _certify._find(automaton, env, {}, BUDGET, lingering=BUDGET).to_json())
        assert_played(machine, found, factor)
    return found


@pytest.mark.parametrize("num_memories", [1, 2, 5, 12, 40])
def test_random_automata(num_memories: int):
    rng = np.random.default_rng(num_memories)
    for number in range(25):
        actions = [(0.7, 0.1, 0.1, 0.1), (0.5, 0.0, 0.5, 0.0), (0.55, 0.0, 0.45, 0.0)][number % 3]
        check(Automaton.draw(rng, num_memories, actions), (None, 1, 2, 10)[number % 4 :][:2])


def ring(moves: list[int], turn: Callable[[int], int], away: Any = None) -> Automaton:
    """Goes through moves again and again; `turn` says what is done at a junction.

    After both cues alike, but that the cue 1 begins in the middle.
    """
    size = len(moves)
    corridor = [((n + 1) % size, move) for n, move in enumerate(moves)]
    junction = [((n + 1) % size if away is None else away, turn(n)) for n in range(size)]
    openings = [[(0, RIGHT), (size // 2, RIGHT)], [(0, UP), (0, DOWN)]]
    return Automaton(corridor, junction, openings)


def test_a_long_period():
    found = check(ring([RIGHT] * 997, lambda n: UP if n < 500 else DOWN), (None, 1))
    assert found["cues"][0]["period"] == 997
    assert found["solved"]["period"] == 997


def test_periods_that_have_nothing_in_common():
    """The cues go round in rings of 13 and 29 memories: all is known after 377 lengths."""
    corridor = [((n + 1) % 13, RIGHT) for n in range(13)]
    corridor += [(13 + (n + 1) % 29, RIGHT) for n in range(29)]
    junction = [(n, UP if n % 13 < 7 else DOWN) for n in range(13)]
    junction += [(13 + n, DOWN if n < 11 else UP) for n in range(29)]
    openings = [[(0, RIGHT), (13, RIGHT)], [(0, UP), (13, DOWN)]]
    assert check(Automaton(corridor, junction, openings))["solved"]["period"] == 377


@pytest.mark.parametrize(
    "moves",
    [
        [RIGHT, RIGHT, LEFT],
        [RIGHT, RIGHT, LEFT, RIGHT, UP, LEFT, RIGHT],
        [LEFT] * 5 + [RIGHT] * 7,
        [RIGHT] * 7 + [LEFT] * 5,
        [LEFT] * 9 + [RIGHT] * 10,
        [UP, UP, RIGHT],
        [RIGHT] * 6 + [LEFT] * 6,
        [LEFT] * 6 + [RIGHT] * 5,
        [LEFT],
        [DOWN],
    ],
)
def test_drift(moves: list[int]):
    """Forward, on the spot and backward, with a wall on the left, against limits of all kinds."""
    check(ring(moves, lambda n: UP if n % 2 else DOWN))
    check(ring(moves, lambda n: [UP, RIGHT, LEFT, DOWN][n % 4]))


@pytest.mark.parametrize("num_steps", [1, 3, 12])
def test_walking_away_from_the_junction(num_steps: int):
    """It does not turn but goes back, so many steps or for ever, and turns when it is back."""
    back = [(n + 1, LEFT) for n in range(1, num_steps + 1)]
    forth = [(n + 1, RIGHT) for n in range(num_steps + 1, 2 * num_steps + 1)]
    corridor = [(0, RIGHT), *back, *forth, (2 * num_steps + 1, RIGHT)]
    junction = [(1, LEFT), *[(2 * num_steps + 1, UP)] * (2 * num_steps + 1)]
    openings = [[(0, RIGHT), (0, RIGHT)], [(0, UP), (0, DOWN)]]
    check(Automaton(corridor, junction, openings))
    for_ever = Automaton([(0, RIGHT), (1, LEFT)], [(1, LEFT), (1, DOWN)], openings)
    check(for_ever)
    # Two steps back and one forth: it never returns, and meets the wall where there is one.
    drifting = [(0, RIGHT), (2, LEFT), (3, LEFT), (1, RIGHT)]
    turning = [(1, LEFT), *[(1, UP)] * 3]
    check(Automaton(drifting, turning, openings))


def test_a_wall_that_brings_it_back():
    """It leaves the junction to the left, and what it does at the wall depends on when it is met.

    In the corridor memory 1 goes left five times and then right for ever.
    """
    corridor = [(0, RIGHT), *[(n + 1, LEFT) for n in range(1, 6)], (6, RIGHT)]
    junction = [(1, LEFT), *[(n, DOWN if n % 2 else UP) for n in range(1, 7)]]
    openings = [[(0, RIGHT), (0, RIGHT)], [(0, UP), (0, DOWN)]]
    check(Automaton(corridor, junction, openings))


def test_an_orbit_that_does_not_close_is_left_open():
    automaton = ring([RIGHT] * 997, lambda n: UP)
    found = find(Table(automaton), 10, 500)
    assert found["solved"] is found["optimal"] is None
    assert all(cue["period"] is None for cue in found["cues"])
    claimed = _certify._find(automaton, envs.make("tmaze"), {}, 500, lingering=500).to_json()
    assert_same(found, claimed)
    assert claimed["budget"] == 500
