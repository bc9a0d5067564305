"""The figures of a study as files, and as images that a page can hold."""

import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

from remanence.errors import RemanenceError
from remanence.figures import StudyFigure, Tables, draw_figure, save_figure

FORMATS = ("png", "svg")


@dataclasses.dataclass(frozen=True)
class Picture:
    """A figure of the report: an image as a data URI, or why there is none.

    It has failed if the study has all that it needs.
    """

    title: str
    caption: str
    counterpart: str
    image: str = ""
    problem: str = ""
    failed: bool = False


def draw_pictures(
    figures: Mapping[str, StudyFigure], tables: Tables, directory: Path
) -> Iterator[Picture]:
    """Draw every figure into a directory; one that cannot be drawn says why.

    An optional one that has nothing to show is left out.
    """
    for name, figure in figures.items():
        about = (figure.title, figure.caption, figure.counterpart)
        absent = " and no ".join(figure.list_absent(tables)).replace("_", " ")
        if absent and figure.optional:
            continue
        if absent:
            yield Picture(*about, problem=f"There are no {absent} in this study.")
            continue
        try:
            drawn = draw_figure(figure, tables)
            for suffix in FORMATS:
                save_figure(drawn, directory / f"{name}.{suffix}")
        except RemanenceError as error:
            yield Picture(*about, problem=str(error), failed=True)
        except Exception as error:  # whatever one figure trips over, the others are drawn
            yield Picture(*about, problem=f"{type(error).__name__}: {error}", failed=True)
        else:
            drawing = (directory / f"{name}.svg").read_text(encoding="utf-8")
            yield Picture(*about, image=embed_drawing(drawing))


def embed_drawing(drawing: str) -> str:
    """An SVG as a data URI, which is a tenth shorter than one in base 64."""
    # A line break within a URI is dropped, and would join the attributes around it.
    return "data:image/svg+xml," + quote(drawing.replace("\n", " "), safe=" /:;=,()?!@*+$~[]{}|")
