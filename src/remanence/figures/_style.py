"""What all figures have in common: sizes, colours that everyone can tell apart, files."""

from pathlib import Path
from typing import Any

import matplotlib as mpl
from cycler import cycler
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from remanence.errors import InvalidOptionError
from remanence.store import write_whole

# Okabe and Ito (2008), which colour-blind readers can tell apart.
BLUE, ORANGE, GREEN, PINK = "#0072B2", "#E69F00", "#009E73", "#CC79A7"
SKY, RED, YELLOW, BLACK = "#56B4E9", "#D55E00", "#F0E442", "#000000"
GREY = "#777777"
PALETTE = (BLUE, ORANGE, GREEN, PINK, SKY, RED, YELLOW)
MARKERS = ("o", "s", "^", "D", "P", "*", "v")

STYLE: dict[Any, Any] = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.prop_cycle": cycler(color=PALETTE),
    "legend.frameon": False,
    "svg.hashsalt": "remanence",  # the same figure gives the same file
}
FORMATS = (".png", ".svg", ".pdf")


def make_figure(width_inches: float = 5.5, height_inches: float = 3.2) -> Figure:
    """An empty figure that belongs to no window.

    >>> from remanence import figures
    >>> figures.make_figure(4.0, 3.0).get_size_inches().tolist()
    [4.0, 3.0]
    """
    figure = Figure(figsize=(width_inches, height_inches), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def save_figure(figure: Figure, path: str | Path, dots_per_inch: int = 200) -> None:
    """Write a figure, whole, in the format of its suffix.

    >>> from pathlib import Path
    >>> from remanence import figures
    >>> figures.save_figure(figures.make_figure(), "empty.png", dots_per_inch=20)
    >>> Path("empty.png").read_bytes()[1:4]
    b'PNG'
    """
    path = Path(path)
    if path.suffix not in FORMATS:
        raise InvalidOptionError("path", str(path), f"end it in one of {', '.join(FORMATS)}")
    # Without a date, which would make every file differ.
    metadata = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(path.suffix)

    def write(temporary: Path) -> None:
        with mpl.rc_context(STYLE):
            figure.savefig(temporary, format=path.suffix[1:], dpi=dots_per_inch, metadata=metadata)

    write_whole(path, write)
