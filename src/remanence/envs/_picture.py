"""A scene as a picture, in the colours of Okabe and Ito (2008), safe for colour-blind viewers.

Lengths are in pixels of the finished picture; it is drawn larger and shrunk, to smooth its edges.
"""

import functools
import math
from collections.abc import Sequence

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from remanence.envs._render import Corridor, Scene, Table, elide, show_number

# Multiples of 16, as video codecs want them.
WIDTH, HEIGHT, TABLE_HEIGHT = 640, 320, 96
MARGIN = 28
MAX_CELL = 60
OVERSAMPLING = 4

PAPER, FLOOR, WALL, GREY, INK = "#FCFBF8", "#ECEAE4", "#4A5058", "#7A808A", "#23272D"
BLUE, GREEN, ORANGE, VERMILLION = "#0072B2", "#009E73", "#E69F00", "#D55E00"

Length = int | float
Point = tuple[Length, Length]


def draw_picture(scene: Scene) -> np.ndarray:
    """The scene as an array (height, width, 3); its shape depends on the environment alone."""
    canvas = _Canvas(WIDTH, HEIGHT + (TABLE_HEIGHT if scene.table is not None else 0))
    _draw_heading(canvas, scene)
    if scene.corridor is None:
        _draw_lines(canvas, scene.facts)
    else:
        _draw_corridor(canvas, scene.corridor)
    if scene.table is not None:
        _draw_table(canvas, scene.table)
    return canvas.pixels()


class _Canvas:
    """Pillow, with lengths in pixels of the finished picture and shapes around a centre."""

    def __init__(self, width: int, height: int):
        self._image = Image.new("RGB", (width * OVERSAMPLING, height * OVERSAMPLING), PAPER)
        self._draw = ImageDraw.Draw(self._image)

    def box(self, centre: Point, width: Length, height: Length, fill: str, radius: Length = 5):
        (x, y), w, h = centre, width / 2, height / 2
        corners = self._scale([(x - w, y - h), (x + w, y + h)])
        self._draw.rounded_rectangle(corners, radius * OVERSAMPLING, fill)

    def disc(self, centre: Point, radius: Length, fill: str):
        self._draw.circle(self._scale([centre])[0], radius * OVERSAMPLING, fill)

    def polygon(self, points: Sequence[Point], fill: str):
        self._draw.polygon(self._scale(points), fill)

    def line(self, points: Sequence[Point], fill: str, width: Length):
        self._draw.line(self._scale(points), fill, round(width * OVERSAMPLING), joint="curve")
        for end in (points[0], points[-1]):
            self.disc(end, width / 2, fill)

    def text(self, at: Point, text: str, size: Length, fill: str = INK, anchor: str = "mm"):
        font = _load_font(round(size * OVERSAMPLING))
        self._draw.text(self._scale([at])[0], text, fill, font, anchor)

    def pixels(self) -> np.ndarray:
        return np.array(self._image.reduce(OVERSAMPLING))

    def _scale(self, points: Sequence[Point]) -> list[Point]:
        return [(x * OVERSAMPLING, y * OVERSAMPLING) for x, y in points]


@functools.cache
def _load_font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)


def _draw_heading(canvas: _Canvas, scene: Scene) -> None:
    canvas.text((MARGIN, 34), scene.title, 22, anchor="lm")
    if scene.corridor is not None:
        facts = "   ·   ".join(scene.facts)
        canvas.text((WIDTH - MARGIN, 35), facts, 15, GREY, anchor="rm")
    if scene.progress is not None:
        _draw_progress(canvas, *scene.progress)


def _draw_progress(canvas: _Canvas, done: int, total: int) -> None:
    full, y, height = WIDTH - 2 * MARGIN, 60, 6
    canvas.box((WIDTH / 2, y), full, height, FLOOR, height / 2)
    if done:
        # Never shorter than high, or its round ends would have no room.
        width = max(full * done / total, height)
        canvas.box((MARGIN + width / 2, y), width, height, BLUE, height / 2)


def _draw_lines(canvas: _Canvas, facts: Sequence[str]) -> None:
    top, pitch, size = 78, 24, 15
    room = (HEIGHT - top - 12) // pitch
    lines = facts if len(facts) <= room else [*facts[: room - 1], "…"]
    for row, line in enumerate(lines):
        at = (MARGIN, top + pitch * row)
        canvas.text(at, _shorten(line, size, WIDTH - 2 * MARGIN), size, anchor="lm")


def _shorten(text: str, size: int, width: int) -> str:
    font, shortened = _load_font(size), text
    while font.getlength(shortened) > width:
        text = text[:-1]
        shortened = text + "…"
    return shortened


def _draw_corridor(canvas: _Canvas, corridor: Corridor) -> None:
    cells = elide(corridor.length, corridor.position or 0)
    # In cells: 1.72 from the sign's left edge to the first centre, 0.66 from the last to the wall.
    span = 1.72 + len(cells) - 1 + 0.66
    size = min(MAX_CELL, (WIDTH - 2 * MARGIN) / span)
    left = WIDTH / 2 + (1.72 - span / 2) * size
    centres = [(left + size * slot, HEIGHT / 2 + 18) for slot in range(len(cells))]
    x, y = centres[-1]
    arms = {-1: (x, y - size), 1: (x, y + size)}
    _draw_walls(canvas, centres, size)
    _draw_sign(canvas, (left - 1.3 * size, y), size, corridor.sign)
    for slot, centre in enumerate(centres):
        _draw_cell(canvas, centre, size, cells[slot - 1 : slot + 2])
    for arm, centre in arms.items():
        _draw_arm(canvas, centre, size, rewarded=arm == corridor.goal)
    if corridor.arm:
        _draw_agent(canvas, arms[corridor.arm], size)
    elif corridor.position is not None:
        _draw_agent(canvas, centres[cells.index(corridor.position)], size)


def _draw_walls(canvas: _Canvas, centres: Sequence[Point], size: Length) -> None:
    (first, y), (last, _) = centres[0], centres[-1]
    border = 0.16 * size
    middle = ((first + last) / 2, y)
    canvas.box(middle, last - first + size + 2 * border, size + 2 * border, WALL, 9)
    canvas.box((last, y), size + 2 * border, 3 * size + 2 * border, WALL, 9)


def _draw_cell(
    canvas: _Canvas, centre: Point, size: Length, neighbours: Sequence[int | None]
) -> None:
    """One place of the corridor; a gap is dotted and says how many cells it stands for."""
    before, cell, after = neighbours if len(neighbours) == 3 else (None, 0, None)
    canvas.box(centre, 0.94 * size, 0.94 * size, FLOOR)
    if cell is not None or before is None or after is None:
        return
    x, y = centre
    canvas.box(centre, 0.94 * size, 1.5 * size, PAPER, 0)
    for shift in (-0.26, 0.0, 0.26):
        canvas.disc((x + shift * size, y), 0.075 * size, GREY)
    canvas.text((x, y + 0.98 * size), show_number(after - before - 1), 12, GREY)


def _draw_sign(canvas: _Canvas, centre: Point, size: Length, sign: str) -> None:
    x, y = centre
    canvas.line([(x, y), (x, y + 0.62 * size)], GREY, 0.07 * size)
    board = (x, y - 0.12 * size)
    canvas.box(board, 0.84 * size, 0.72 * size, ORANGE if sign else GREY, 0.14 * size)
    if not sign:
        canvas.box(board, 0.74 * size, 0.62 * size, PAPER, 0.1 * size)
    elif sign in _DIRECTIONS:
        _draw_arrow(canvas, board, 0.5 * size, _DIRECTIONS[sign], INK)
    else:
        canvas.text(board, sign, 0.46 * size)


_DIRECTIONS = {"↑": -1, "↓": 1}


def _draw_arrow(canvas: _Canvas, centre: Point, size: Length, direction: int, fill: str) -> None:
    """An arrow as high as `size`; direction -1 is up."""
    x, y = centre
    tip, neck, tail = (y + direction * size * part for part in (0.5, 0.0, -0.5))
    canvas.polygon([(x, tip), (x - 0.42 * size, neck), (x + 0.42 * size, neck)], fill)
    canvas.box((x, (neck + tail) / 2), 0.26 * size, abs(tail - neck), fill, 0.04 * size)


def _draw_arm(canvas: _Canvas, centre: Point, size: Length, rewarded: bool) -> None:
    canvas.box(centre, 0.94 * size, 0.94 * size, GREEN if rewarded else FLOOR)
    if rewarded:
        canvas.polygon(_star(centre, 0.36 * size), PAPER)
        return
    (x, y), reach = centre, 0.17 * size
    for slope in (-1, 1):
        ends = [(x - reach, y - slope * reach), (x + reach, y + slope * reach)]
        canvas.line(ends, VERMILLION, 0.1 * size)


def _star(centre: Point, radius: Length) -> list[Point]:
    """Ten corners, the outer and inner ones of a five-pointed star in turn."""
    radii = [radius, 0.45 * radius] * 5
    angles = [math.pi * (corner / 5 - 0.5) for corner in range(10)]
    return [
        (centre[0] + reach * math.cos(angle), centre[1] + reach * math.sin(angle))
        for reach, angle in zip(radii, angles, strict=True)
    ]


def _draw_agent(canvas: _Canvas, centre: Point, size: Length) -> None:
    """A round head that looks to the right."""
    x, y = centre
    canvas.disc(centre, 0.36 * size, PAPER)
    canvas.disc(centre, 0.33 * size, BLUE)
    for shift in (0.0, 0.2):
        eye = (x + shift * size, y - 0.07 * size)
        canvas.disc(eye, 0.085 * size, PAPER)
        canvas.disc((eye[0] + 0.03 * size, eye[1]), 0.045 * size, INK)


def _draw_table(canvas: _Canvas, table: Table) -> None:
    top = HEIGHT - 4
    seen = "the table, seen now" if table.visible else "the table, to be remembered"
    canvas.text((WIDTH / 2, top), seen, 13, GREY)
    pitch = min(46, (WIDTH - 2 * MARGIN) / len(table.entries))
    left = WIDTH / 2 - pitch * (len(table.entries) - 1) / 2
    for index, entry in enumerate(table.entries):
        centre = (left + pitch * index, top + 18 + pitch / 2)
        _draw_entry(canvas, centre, pitch, entry, table.visible, index == table.index)
        label = INK if index == table.index else GREY
        canvas.text((centre[0], centre[1] + pitch / 2 + 9), str(index), 12, label)


def _draw_entry(
    canvas: _Canvas, centre: Point, pitch: Length, entry: int, visible: bool, decides: bool
) -> None:
    if decides:
        canvas.box(centre, pitch, pitch, INK, 0.16 * pitch)
    canvas.box(centre, 0.84 * pitch, 0.84 * pitch, ORANGE if visible else FLOOR, 0.1 * pitch)
    _draw_arrow(canvas, centre, 0.5 * pitch, entry, INK if visible or decides else GREY)
