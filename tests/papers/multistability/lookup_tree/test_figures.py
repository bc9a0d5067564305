"""Figures show their tables: marks, lines and bars are read back and compared."""

from typing import Any

import numpy as np
import pytest

from remanence.figures import Tables, draw_figure, select_rows
from remanence.papers.multistability._radii import FLOOR
from remanence.papers.multistability.lookup_tree._figures import FIGURES
from remanence.papers.multistability.lookup_tree._scatter import SPREAD
from tests.papers.multistability.lookup_tree.tables import (
    BINS,
    MODELS,
    NUMBERS,
    VARIANT,
    make_tables,
)

TABLES = make_tables()
NAMES = {"gru": "GRU", "brc": "BRC", "mingru": "minGRU", "bmru": "BMRU", "hybrid": "hybrid"}
LINEAR = [name for name, linear in MODELS.items() if linear]


def draw(name: str, tables: Tables = TABLES) -> Any:
    """A figure whose artists are taken apart below."""
    return draw_figure(FIGURES[name], tables)


def get_lines(axes):
    return {line.get_label(): line for line in axes.lines if not line.get_label().startswith("_")}


@pytest.mark.parametrize(
    ("figure", "acting", "linear"),
    [
        ("nonlinear", "sampled", False),
        ("parallelizable", "sampled", True),
        ("greedy-nonlinear", "greedy", False),
        ("greedy-parallelizable", "greedy", True),
    ],
)
def test_each_model_has_a_mark_at_its_vaa_and_return(figure, acting, linear):
    drawn = draw(figure)
    assert [axes.get_title() for axes in drawn.axes] == [f"{it:,} mazes" for it in NUMBERS]
    for axes, number in zip(drawn.axes, NUMBERS, strict=True):
        lines = get_lines(axes)
        below, places = 0, []
        for model in [name for name, kind in MODELS.items() if kind == linear]:
            scores = select_rows(TABLES["scores"], acting=acting, num_mazes=number, model=model)
            shown = scores["return"] >= 1.5
            line = lines[NAMES[model]]
            # Side by side where several have one VAA.
            np.testing.assert_allclose(line.get_xdata(), scores["vaa"][shown], atol=SPREAD + 1e-9)
            places += [*line.get_xdata()]
            np.testing.assert_allclose(line.get_ydata(), scores["return"][shown])
            below += np.count_nonzero(~shown)
            if not shown.all():
                edge = lines[f"{NAMES[model]}, below"]
                expected = scores["vaa"][~shown]
                np.testing.assert_allclose(edge.get_xdata(), expected, atol=SPREAD + 1e-9)
                places += [*edge.get_xdata()]
                assert set(edge.get_ydata()) == {axes.get_ylim()[0]}
                assert edge.get_marker() != line.get_marker()
        assert len(set(np.round(places, 6))) == len(places)
        told = [text.get_text() for text in axes.texts]
        assert (f"{below} below" in told) == (below > 0)
        assert bool(below) == (acting == "greedy" and number > 10)


def test_levels_and_numbers_of_models_are_told():
    drawn = draw("parallelizable")
    (legend,) = drawn.legends
    assert [it.get_text() for it in legend.get_texts()] == [f"{NAMES[it]} (3)" for it in LINEAR]
    heights = [line.get_ydata()[0] for line in drawn.axes[0].lines[:4]]
    np.testing.assert_allclose(heights, [4.0, 1.95, 4 - 4.1 / 6, 4 - 4.1 / 12])
    told = [text.get_text() for text in drawn.axes[-1].texts]
    assert told == ["optimal", "coin flip", "1 entry", "2 entries"]


def test_right_decisions_are_lines_with_bands():
    drawn = draw("reach")
    titles = [axes.get_title(loc="left") for axes in drawn.axes]
    assert titles == [
        "nonlinear models, sampled actions",
        "parallelizable models, sampled actions",
        "nonlinear models, greedy actions",
        "parallelizable models, greedy actions",
    ]
    axes = drawn.axes[1]
    lines = get_lines(axes)
    assert list(lines) == [f"{NAMES[it]} (3)" for it in LINEAR]
    reach = select_rows(TABLES["reach"], acting="sampled", model="bmru")
    line, band = lines["BMRU (3)"], axes.collections[LINEAR.index("bmru")]
    np.testing.assert_allclose(line.get_xdata(), [np.sqrt(low * high) for low, high in BINS])
    np.testing.assert_allclose(line.get_ydata(), reach["share"])
    edges = band.get_paths()[0].vertices
    for place, low, high in zip(line.get_xdata(), reach["low"], reach["high"], strict=True):
        heights = edges[np.isclose(edges[:, 0], place), 1]
        np.testing.assert_allclose((heights.min(), heights.max()), (low, min(high, 1)))


def test_cures_are_shares_of_wrong_decisions():
    drawn = draw("lost")
    for axes, model in zip(drawn.axes, MODELS, strict=False):
        assert axes.get_title(loc="left") == NAMES[model]
        for container in axes.containers:
            (lost,) = [
                {name: column.item() for name, column in row.items()}
                for row in [select_rows(TABLES["lost"], model=model, when=container.get_label())]
            ]
            cures = [lost[f"cured_by_{it}"] for it in ("table", "index", "flag", "none")]
            heights = [bar.get_height() for bar in container]
            np.testing.assert_allclose(heights, np.array(cures) / lost["num_wrong"])
        # A ninth of the right decisions is spoiled by the index, and none by the others.
        for line in axes.lines:
            np.testing.assert_allclose(line.get_ydata(), [0, 1 / 9, 0])
        wrong = select_rows(TABLES["lost"], model=model)["num_wrong"]
        assert axes.texts[0].get_text() == "\n".join(
            f"{when}: {number:,} of {10 * number:,} wrong"
            for when, number in zip(("early", "late"), wrong, strict=True)
        )
    labels = [text.get_text() for text in drawn.legends[0].get_texts()]
    assert labels[:2] == ["early (decisions 1–24)", "late (from decision 25 on)"]


def test_models_that_are_never_wrong_have_no_bars():
    nothing = {
        name: np.zeros_like(column) if name.startswith(("cured", "num_wrong")) else column
        for name, column in TABLES["lost"].items()
    }
    axes = draw("lost", {**TABLES, "lost": nothing}).axes[0]
    assert not axes.containers
    assert axes.texts[0].get_text().startswith("early: 0 of 100 wrong")


def test_arms_are_side_by_side():
    drawn = draw("variants")
    assert [axes.get_title(loc="left") for axes in drawn.axes] == ["minGRU", "BMRU"]
    for axes, model in zip(drawn.axes, ("mingru", "bmru"), strict=True):
        lines = get_lines(axes)
        assert list(lines) == ["main arm (3)", f"{VARIANT} (3)"]
        for label, variant in (("main arm (3)", ""), (f"{VARIANT} (3)", VARIANT)):
            scores = select_rows(TABLES["variants"], model=model, variant=variant)
            means = [scores["return"][scores["num_mazes"] == it].mean() for it in NUMBERS]
            np.testing.assert_allclose(lines[label].get_ydata(), means)
            np.testing.assert_allclose(lines[label].get_xdata(), NUMBERS, rtol=0.15)


def test_a_study_without_variants_does_not_miss_them():
    optional = [name for name, figure in FIGURES.items() if figure.optional]
    assert optional == ["certified", "radii", "variants"]


def test_learning_curves_are_of_each_model():
    titles = [axes.get_title() for axes in draw("learning").axes]
    assert titles == [f"{NAMES[model]} (3)" for model in MODELS]


def test_failures_are_marked_and_what_is_proved_is_counted():
    drawn, found = draw("certified"), TABLES["maze_certificates"]
    assert [axes.get_title(loc="left") for axes in drawn.axes] == [
        "greedy",
        "straight ahead",
        "any walk",
    ]
    names = [label.get_text() for label in drawn.axes[0].get_yticklabels()]
    assert sorted(names) == sorted(NAMES.values())
    for axes, walk in zip(drawn.axes, ("greedy", "straight", "any"), strict=True):
        marks = np.concatenate([line.get_xdata() for line in axes.lines])
        refuted = select_rows(found, walk=walk, verdict="refuted")["refuted_in"]
        assert sorted(marks) == sorted(refuted)
        crosses = [line.get_xdata() for line in axes.lines if line.get_marker() == "x"]
        stalled = select_rows(found, walk=walk, fails_by="stall")["refuted_in"]
        assert sorted(np.concatenate(crosses)) == sorted(stalled)
        told = [text.get_text() for text in axes.texts]
        assert told.count("3, 0 of 6") == told.count("0, 3 of 6") == 1
        assert told.count("0, 0 of 6") == 3


def test_radii_stand_at_what_is_certified():
    (axes,), found = draw("radii").axes, TABLES["radii"]
    lines = get_lines(axes)
    assert sorted(lines) == ["BMRU", "hybrid"]
    for model in ("bmru", "hybrid"):
        rows, line = select_rows(found, model=model), lines[NAMES[model]]
        np.testing.assert_allclose(line.get_ydata(), np.maximum(rows["radius_certified"], FLOOR))
        _, opened = (it for it in axes.lines if it.get_color() == line.get_color())
        np.testing.assert_allclose(opened.get_ydata(), np.maximum(rows["radius_broken"], FLOOR))
        np.testing.assert_array_equal(opened.get_xdata(), line.get_xdata())
        finite = np.isfinite(rows["certified_mazes"])
        spans, places = rows["certified_mazes"][finite], line.get_xdata()
        np.testing.assert_allclose(places[finite], spans, rtol=0.3)
        assert all(places[~finite] > 2 * spans.max(initial=0))
    assert axes.get_xticklabels()[-2].get_text() == "every\nnumber"
