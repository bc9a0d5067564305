"""Both mazes in plain Python, one episode at a time, from the paper's appendices and the spec.

Whatever is random is handed in: these say what must follow from it.
"""

import dataclasses
from collections.abc import Sequence

RIGHT, UP, LEFT, DOWN = 0, 1, 2, 3
STEPS = {RIGHT: (1, 0), UP: (0, -1), LEFT: (-1, 0), DOWN: (0, 1)}


@dataclasses.dataclass
class TMazeReference:
    """Positions are the paper's pairs: (0, 0)..(L-1, 0), and the arms (L-1, -1) and (L-1, 1)."""

    length: int
    goal: int
    limit_factor: int | None = 10
    position: tuple[int, int] = (0, 0)
    time: int = 0

    @property
    def terminal(self) -> bool:
        return self.position in self._arms

    @property
    def _arms(self) -> list[tuple[int, int]]:
        return [(self.length - 1, -1), (self.length - 1, 1)]

    def observe(self) -> list[float]:
        cue = self.goal if self.time == 0 else 0
        return [float(cue), float(self.position == (self.length - 1, 0))]

    def step(self, action: int) -> tuple[float, bool, bool]:
        """Reward, terminated, truncated."""
        x, y = self.position
        target = (x + STEPS[action][0], y + STEPS[action][1])
        in_corridor = target[1] == 0 and 0 <= target[0] <= self.length - 1
        if in_corridor or target in self._arms:
            self.position = target
        self.time += 1
        reward = 0.0
        if self.terminal:
            reward = 4.0 if self.position == (self.length - 1, self.goal) else -0.1
        return reward, self.terminal, _out_of_time(self.time, self.limit_factor, self.length)


@dataclasses.dataclass(frozen=True)
class Maze:
    length: int
    goal: int
    index: int


@dataclasses.dataclass
class LookupTreeMazeReference:
    """The paper's state (p, k, h); b is the number of `mazes`, which also hold g and l."""

    table: Sequence[int]
    mazes: Sequence[Maze]
    one_hot: bool = False
    limit_factor: int | None = 10
    position: int = 0
    maze: int = 0
    entered: bool = True
    time: int = 0

    @property
    def terminal(self) -> bool:
        return self.maze == len(self.mazes)

    def observe(self) -> list[float]:
        table = list(self.table) if self.time == 0 else [0] * len(self.table)
        index = self.mazes[self.maze].index if self.entered else None
        if self.one_hot:
            shown = [int(entry == index) for entry in range(len(self.table))]
        else:
            shown = [0 if index is None else index]
        junction = not self.terminal and self.position == self.mazes[self.maze].length - 1
        return [float(number) for number in (*table, *shown, junction)]

    def step(self, action: int) -> tuple[float, bool, bool]:
        """Reward, terminated, truncated."""
        maze, reward = self.mazes[self.maze], 0.0
        self.entered = False
        if action in (UP, DOWN) and self.position == maze.length - 1:
            arm = 1 if action == DOWN else -1
            reward = (4.0 if arm == maze.goal else -0.1) / len(self.mazes)
            self.maze += 1
            self.position = 0
            self.entered = not self.terminal
        elif action == RIGHT:
            self.position = min(self.position + 1, maze.length - 1)
        elif action == LEFT:
            self.position = max(self.position - 1, 0)
        self.time += 1
        total_length = sum(maze.length for maze in self.mazes)
        return reward, self.terminal, _out_of_time(self.time, self.limit_factor, total_length)


def _out_of_time(time: int, limit_factor: int | None, length: int) -> bool:
    return limit_factor is not None and time >= limit_factor * length
