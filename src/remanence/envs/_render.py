"""What a person is shown of an environment's state, and its drawing as text.

An environment describes a state as a `Scene` of plain Python values; `_picture.py` paints it.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

# Odd, so that an agent far from both ends of a long corridor is in the middle.
MAX_CELLS_SHOWN = 13
MAX_COLUMNS = 80

ARROWS = {-1: "↑", 0: "·", 1: "↓"}


@dataclasses.dataclass(frozen=True)
class Corridor:
    """A T-maze as the viewer sees it, who knows the goal from the start.

    `sign` is what the agent reads on this step at the maze's entrance, empty where it reads
    nothing. `position` is None once the agent has left the maze.
    """

    length: int
    position: int | None
    goal: int
    arm: int = 0
    sign: str = ""


@dataclasses.dataclass(frozen=True)
class Table:
    """A lookup table; `index` is the entry that decides the current maze."""

    entries: tuple[int, ...]
    index: int
    visible: bool


@dataclasses.dataclass(frozen=True)
class Scene:
    """A title, facts in a few words each, and what else there is to draw.

    `progress` is how many parts of the episode are done, and how many there are.
    """

    title: str
    facts: tuple[str, ...] = ()
    corridor: Corridor | None = None
    table: Table | None = None
    progress: tuple[int, int] | None = None


def list_fields(title: str, state: Any) -> Scene:
    """A scene for any state at all: its arrays by name."""
    leaves = jax.tree_util.tree_leaves_with_path(state)
    return Scene(
        title, tuple(f"{_name_leaf(path)} = {_format_leaf(leaf)}" for path, leaf in leaves)
    )


def show_number(number: int) -> str:
    """Thousands apart: 1 000 000."""
    return f"{number:,}".replace(",", " ")


def elide(length: int, position: int) -> list[int | None]:
    """The cells to show of a corridor, with None where cells are left out.

    At most `MAX_CELLS_SHOWN` entries, and exactly that many where something is left out, so that
    a long corridor keeps its place while the agent walks along it.
    """
    if length <= MAX_CELLS_SHOWN:
        return list(range(length))
    middle = MAX_CELLS_SHOWN // 2
    first, last = [0, 1], [length - 2, length - 1]
    if position <= middle:
        return [*range(MAX_CELLS_SHOWN - 3), None, *last]
    if position >= length - 1 - middle:
        return [*first, None, *range(length - MAX_CELLS_SHOWN + 3, length)]
    reach = middle - 3
    return [*first, None, *range(position - reach, position + reach + 1), None, *last]


def draw_text(scene: Scene) -> str:
    """The scene in at most 80 columns.

    >>> from remanence import envs
    >>> maze, params = envs.make("tmaze", length=3)
    >>> state = maze.start_with(jnp.int32(1), jax.random.key(0), params)
    >>> print(envs.draw_text(maze.depict(state)))
    T-maze
               [x]
      (↓)[●][ ][ ]
               [★]
    step 0  ·  cell 1 of 3
    """
    lines = [scene.title]
    if scene.corridor is not None:
        lines += _draw_corridor(scene.corridor)
    if scene.table is not None:
        lines += _draw_table(scene.table)
    return "\n".join(_shorten(line) for line in lines + _wrap(scene.facts))


def _draw_corridor(corridor: Corridor) -> list[str]:
    cells = elide(corridor.length, corridor.position or 0)
    sign = f"({corridor.sign})" if corridor.sign else ""
    row = "".join(_draw_cell(cell, corridor) for cell in cells)
    indent = " " * (5 + 3 * (len(cells) - 1))
    return [
        indent + _draw_arm(-1, corridor),
        f"{sign:>5}{row}",
        indent + _draw_arm(1, corridor),
    ]


def _draw_cell(cell: int | None, corridor: Corridor) -> str:
    if cell is None:
        return " … "
    here = cell == corridor.position and corridor.arm == 0
    return "[●]" if here else "[ ]"


def _draw_arm(arm: int, corridor: Corridor) -> str:
    marks = ("★" if arm == corridor.goal else "x") + ("●" if arm == corridor.arm else "")
    return f"[{marks}]"


def _draw_table(table: Table) -> list[str]:
    seen = "seen now" if table.visible else "to be remembered"
    arrows = " ".join(ARROWS[entry] for entry in table.entries)
    pointer = " " * (2 * table.index) + f"^ entry {table.index}"
    return [f"table, {seen}", f"  {arrows}", f"  {pointer}"]


def _wrap(facts: Sequence[str]) -> list[str]:
    """Facts beside each other, as many as fit on a line."""
    lines = [""]
    for fact in facts:
        joined = f"{lines[-1]}  ·  {fact}" if lines[-1] else fact
        lines = [*lines[:-1], joined] if len(joined) <= MAX_COLUMNS else [*lines, fact]
    return lines


def _shorten(line: str) -> str:
    return line if len(line) <= MAX_COLUMNS else line[: MAX_COLUMNS - 1] + "…"


def _name_leaf(path: Any) -> str:
    return jax.tree_util.keystr(path, simple=True, separator=".") or "state"


def _format_leaf(leaf: Any) -> str:
    text = np.array2string(np.asarray(leaf), precision=3, threshold=6, edgeitems=2, separator=", ")
    return " ".join(text.split())
