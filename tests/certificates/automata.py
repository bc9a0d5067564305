"""Agents that are small finite automata, and their mazes stepped one by one."""

import numpy as np

from remanence.certificates._walker import AbstractWalker, Spot, Trace

RIGHT, UP, LEFT, DOWN = range(4)


class Automaton(AbstractWalker):
    """Memory is a number and the last action; tables say what is done and remembered next.

    One is for the corridor and one for the junction; `openings[flag][goal > 0]` is memory and
    action after the first observation.
    """

    def __init__(self, corridor, junction, openings):
        self.corridor, self.junction, self.openings = corridor, junction, openings

    @staticmethod
    def draw(rng: np.random.Generator, num_memories: int, actions=(0.7, 0.1, 0.1, 0.1)):
        def table(weights):
            return [
                (int(rng.integers(num_memories)), int(rng.choice(4, p=weights)))
                for _ in range(num_memories)
            ]

        junction = table(rng.dirichlet(np.ones(4)))
        openings = [[table(actions)[0], table(actions)[0]] for _ in range(2)]
        return Automaton(table(actions), junction, openings)

    def look(self, memory, at_junction, goal):
        if memory is None:
            return self.openings[at_junction][goal > 0]
        return (self.junction if at_junction else self.corridor)[memory]

    def step(self, memory, position, length, goal):
        """Memory, action, position and arm after one step: the rules of the maze, spelled out."""
        at_junction = position == length - 1
        memory, action = self.look(memory, at_junction, goal)
        arm = 0
        if action == RIGHT and position < length - 1:
            position += 1
        elif action == LEFT and position > 0:
            position -= 1
        elif at_junction and action in (UP, DOWN):
            arm = -1 if action == UP else 1
        return memory, action, position, arm

    def walk(self, spot: Spot, num_steps: int) -> Trace:
        memory = None if spot.memory is None else int(spot.memory[0])
        position, rows, arm = spot.position, [], 0
        while len(rows) < num_steps and not arm:
            memory, action, position, arm = self.step(memory, position, spot.length, spot.goal)
            rows.append((memory, action, position))
        memories, actions, positions = np.array(rows, int).reshape(-1, 3).T
        return Trace(np.stack([memories, actions], axis=1), actions, positions, arm)

    def decide(self, memories) -> np.ndarray:
        return np.array([self.junction[int(memory)][1] for memory in memories[:, 0]])

    def read_state(self, memory) -> np.ndarray:
        return memory[:1].astype(float)


def play(automaton: Automaton, goal: int, length: int, num_steps: int):
    """The arm and the number of steps of one episode, or (0, 0) if it is not over by then."""
    memory, position = None, 0
    for step in range(1, num_steps + 1):
        memory, _, position, arm = automaton.step(memory, position, length, goal)
        if arm:
            return arm, step
    return 0, 0
