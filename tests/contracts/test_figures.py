"""What every figure of every registered experiment keeps to."""

import xml.etree.ElementTree as ElementTree

import pytest
from matplotlib.text import Text

from remanence.errors import InvalidOptionError
from remanence.figures import count_rows, draw_figure, save_figure
from remanence.report import experiments, find_experiment
from tests.papers.multistability.lookup_tree.tables import make_tables as make_lookup_tree_tables
from tests.papers.multistability.lookup_tree.tables import select_seed
from tests.papers.multistability.tmaze.tables import make_tables as make_tmaze_tables
from tests.papers.multistability.tmaze.tables import select_training

TMAZE, LOOKUP_TREE = make_tmaze_tables(), make_lookup_tree_tables()
# The tables of each experiment, and those of a smaller study of it.
TABLES = {
    "tmaze": (TMAZE, select_training(TMAZE, "tmaze-short")),
    "lookup-tree": (LOOKUP_TREE, select_seed(LOOKUP_TREE, 1)),
    "any-study": (TMAZE, select_training(TMAZE, "tmaze-short")),
}
FIGURES = {
    (experiment, name): figure
    for experiment in (*experiments, "any-study")
    for name, figure in find_experiment(experiment).figures.items()
}


@pytest.fixture(scope="module", params=list(FIGURES), ids="-".join)
def drawn(request, coarse_sketch):
    figure = draw_figure(FIGURES[request.param], get_tables(request.param))
    figure.draw_without_rendering()
    # Finding room for all takes longest by far, and would be done again by every test.
    figure.set_layout_engine("none")
    return request.param, figure


def get_tables(name):
    experiment, _ = name
    return TABLES[experiment][0]


def test_is_written_as_png_and_svg(drawn, tmp_path):
    (_, name), figure = drawn
    for suffix in ("png", "svg"):
        save_figure(figure, tmp_path / f"{name}.{suffix}", dots_per_inch=50)
    assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    assert ElementTree.parse(tmp_path / f"{name}.svg").getroot().tag.endswith("svg")


def test_fits_on_a_printed_page_in_legible_letters(drawn):
    _, figure = drawn
    width, height = figure.get_size_inches()
    assert width <= 8
    assert height <= 9.5
    texts = figure.findobj(Text)
    assert all(text.get_fontsize() >= 7 for text in texts if text.get_text().strip())


def test_nothing_is_cut_off_at_the_edges(drawn):
    name, figure = drawn
    alone = TABLES[name[0]][1]
    # A smaller study has fewer panels, and the same words to find room for.
    for it in (figure, draw_figure(FIGURES[name], alone)) if FIGURES[name].needs else (figure,):
        it.draw_without_rendering()
        width, height = it.bbox.size
        for part in [*it.legends, *(title for axes in it.axes for title in (axes.title,))]:
            box = part.get_window_extent()
            assert -1 <= box.x0 <= box.x1 <= width + 1
            assert -1 <= box.y0 <= box.y1 <= height + 1


def test_axes_say_what_they_show(drawn):
    _, figure = drawn
    for axes in figure.axes:
        names = [tick.get_text() for tick in axes.get_xticklabels()]
        categories = any(name.isalpha() for name in names)
        shared = len(axes.get_shared_x_axes().get_siblings(axes)) > 1
        assert axes.get_xlabel() or categories or shared or not axes.axison


def test_has_a_title_and_a_caption(drawn):
    name, _ = drawn
    entry = FIGURES[name]
    assert entry.title
    assert not entry.title.endswith(".")
    assert entry.caption.endswith(".")
    assert set(entry.needs) <= set(get_tables(name))


def test_needs_what_it_says_it_needs(drawn):
    name, _ = drawn
    for need in FIGURES[name].needs:
        tables = get_tables(name)
        empty = {column: values[:0] for column, values in tables[need].items()}
        assert count_rows(empty) == 0
        with pytest.raises(InvalidOptionError, match=need):
            draw_figure(FIGURES[name], {**tables, need: empty})
