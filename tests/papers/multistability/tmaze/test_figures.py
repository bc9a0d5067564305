"""Figures of a study show their tables: lines, bars and marks are read back and counted."""

import itertools
from typing import Any

import numpy as np
import pytest

from remanence.errors import InvalidOptionError
from remanence.figures import Tables, draw_figure, select_rows
from remanence.papers.multistability.tmaze._figures import FIGURES
from tests.papers.multistability.tmaze.tables import (
    LENGTHS,
    MODELS,
    PRESETS,
    SEEDS,
    make_tables,
    select_training,
)

TABLES = make_tables()


def draw(name: str, tables: Tables = TABLES) -> Any:
    """A figure whose artists are taken apart below."""
    return draw_figure(FIGURES[name], tables)


def get_lines(axes):
    return {line.get_label(): line for line in axes.lines if not line.get_label().startswith("_")}


def test_outcomes_are_counted_in_bars_and_marked_one_by_one():
    bars, scatter = draw("outcomes").axes
    models = select_rows(TABLES["models"], parallelizable=False)
    assert len(bars.containers) == len(PRESETS)
    for container, preset in zip(bars.containers, PRESETS, strict=True):
        trained = models["outcome"][models["preset"] == preset]
        expected = [np.sum(trained == outcome) for outcome in ("timeout", "random", "solved")]
        assert [bar.get_height() for bar in container] == expected
        assert f"({len(trained)} models)" in container.get_label()
    marks = [line for line in scatter.lines if np.size(line.get_xdata()) == 1]
    assert len(marks) == len(models["seed"])
    # Solved on the right and bistable above; random in the middle and monostable below.
    right = [line for line in marks if line.get_xdata()[0] > 1.5]
    assert len(right) == np.sum(models["outcome"] == "solved")
    assert all(line.get_ydata()[0] > 0.5 for line in right)
    numbers = [int(text.get_text()) for text in scatter.texts]
    assert sum(numbers) == len(models["seed"])


@pytest.mark.parametrize(("figure", "linear"), [("nonlinear", False), ("parallelizable", True)])
def test_returns_are_means_over_as_many_models_as_the_panel_says(figure, linear):
    panels = iter(draw(figure).axes)
    models = [name for name, (_, kind) in MODELS.items() if kind == linear]
    for model, preset in itertools.product(models, PRESETS):
        axes = next(panels)
        outcomes = select_rows(TABLES["outcomes"], preset=preset, model=model)
        lines = get_lines(axes)
        kinds = sorted(set(outcomes["stability"].tolist()))
        assert sorted(lines) == kinds
        name = {"gru": "GRU", "deep-mingru": "deep minGRU"}.get(model, model)
        assert axes.get_title(loc="left").startswith(f"{name}: ")
        for stability in kinds:
            members = select_rows(outcomes, stability=stability)
            assert f"{len(set(members['seed']))} {stability}" in axes.get_title(loc="left")
            expected = [
                np.mean(members["return"][members["length"] == length]) for length in LENGTHS
            ]
            np.testing.assert_array_equal(lines[stability].get_xdata(), LENGTHS)
            np.testing.assert_allclose(lines[stability].get_ydata(), expected)
            assert lines[stability].get_linestyle() == ("-" if stability == "bistable" else "--")
    assert next(panels, None) is None


def test_single_models_are_dots_where_they_were_evaluated_and_darker_where_they_are_many():
    axes = draw("nonlinear").axes[0]
    monostable, bistable = axes.collections
    # Two bistable GRUs have 4 everywhere; the monostable one has 4 twice, and then 1.9 + 0.3.
    np.testing.assert_allclose(bistable.get_offsets(), [[2, 4], [10, 4], [100, 4]])
    np.testing.assert_allclose(monostable.get_offsets(), [[2, 4], [10, 4], [100, 2.2]])
    assert set(bistable.get_alpha()) == {1.0}
    apart = np.where(TABLES["nonlinear_outcomes"]["seed"] == 1, 3.0, 4.0)
    changed = TABLES["nonlinear_outcomes"] | {"return": apart}
    _, bistable = draw("nonlinear", TABLES | {"nonlinear_outcomes": changed}).axes[0].collections
    assert len(bistable.get_offsets()) == 2 * len(LENGTHS)
    assert set(bistable.get_alpha()) == {0.7}


def test_learning_curves_are_mean_and_two_sigma():
    figure = draw("learning")
    assert len(figure.axes) == len(PRESETS) * len(MODELS)
    axes = figure.axes[0]
    assert axes.get_title() == "GRU (3)"
    mean = [axes.lines[-1].get_xdata(), axes.lines[-1].get_ydata()]
    np.testing.assert_allclose(mean, [[1, 2, 3], [0.6, 1.2, 1.8]])
    # At iteration i the returns are 0.3 i, 0.6 i and 0.9 i: sigma is 0.3 i sqrt(2/3).
    edge = axes.collections[0].get_paths()[0].vertices
    for iteration in (1, 2, 3):
        heights = edge[edge[:, 0] == iteration, 1]
        reach = 0.6 * iteration * np.sqrt(2 / 3)
        np.testing.assert_allclose(heights.min(), 0.6 * iteration - reach, rtol=1e-6)
        np.testing.assert_allclose(heights.max(), 0.6 * iteration + reach, rtol=1e-6)


def test_bands_are_cut_at_the_returns_that_exist():
    curves = TABLES["curves"] | {"return": np.where(TABLES["curves"]["seed"] > 1, 4.0, 0.0)}
    (band,) = draw("learning", TABLES | {"curves": curves}).axes[0].collections
    heights = band.get_paths()[0].vertices[:, 1]
    assert (heights.min(), heights.max()) == (-0.1, 4.0)


def test_models_that_were_trained_for_less_say_so():
    mixed = {"parallelizable_outcomes": TABLES["outcomes"]}
    panels = draw("parallelizable", TABLES | mixed).axes
    titles = {axes.get_title(loc="left") for axes in panels}
    assert "deep minGRU (20 iterations): 3 monostable" in titles
    assert "GRU: 1 monostable, 2 bistable" in titles


def test_transients_are_the_states_of_each_unit_after_each_cue():
    figure = draw("transients")
    assert len(figure.axes) == len(PRESETS) * 2
    for index, axes in enumerate(figure.axes):
        unit = index // len(PRESETS)
        for cue, line in enumerate(axes.lines):
            np.testing.assert_array_equal(line.get_xdata(), range(4))
            np.testing.assert_allclose(line.get_ydata(), (cue - 0.5) * np.arange(4) + unit)
    assert "seed 1" in figure.axes[0].get_title()
    assert "settles after 1,234 steps" in figure.axes[0].get_title()


def test_spans_have_a_row_for_every_agent_and_an_arrow_for_ever():
    panels = draw("spans").axes
    for axes in panels:
        bars = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in axes.patches]
        ends = np.round([end - 0.45 for _, end in bars])
        assert np.sum(ends == 1e7) == 4
        assert np.sum(ends == 49) == 3
        assert np.sum(ends == 20) == 7
        assert np.sum(ends == 30) == 1
        assert all(np.isclose(start, 0.55) for start, _ in bars)
        arrows = [line for line in axes.lines if line.get_marker() == ">"]
        undecided = [line for line in axes.lines if line.get_marker() == "$?$"]
        assert len(arrows) == 4
        assert sorted(line.get_xdata()[0] for line in undecided) == [1, 45]
        rows = {round(bar.get_y() + 0.4, 3) for bar in axes.patches}
        rows |= {round(float(line.get_ydata()[0]), 3) for line in undecided}
        assert len(rows) == len(MODELS) * len(SEEDS)
        names = [label.get_text().split("\n")[:2] for label in axes.get_yticklabels()]
        assert names == [["GRU", "2 of 3"], ["deep minGRU", "0 of 3"], ["own", "2 of 3"]]


def test_spans_too_fine_to_see_are_drawn_as_shades_of_their_share():
    lengths = TABLES["lengths"]
    agent = {name: column[:1] for name, column in select_rows(lengths, kind="solved").items()}
    low = np.arange(2.0, 20_000, 2)
    rows = {name: np.repeat(column, len(low)) for name, column in agent.items()}
    rows |= {"low": low, "high": low, "share": np.ones(len(low))}
    (axes,) = draw("spans", TABLES | {"lengths": rows}).axes
    bars = [(bar.get_x(), bar.get_width(), bar.get_alpha() / 0.35) for bar in axes.patches]
    assert len(bars) < 600
    covered = sum(width * share for _, width, share in bars)
    assert covered == pytest.approx(0.9 * len(low))
    # The first ones can be seen one by one, and the last ones are every other length.
    np.testing.assert_allclose(bars[:20], [(it - 0.45, 0.9, 1.0) for it in low[:20]])
    assert bars[-2][2] == pytest.approx(0.45, abs=0.01)
    for (start, width, _), (following, _, _) in itertools.pairwise(bars):
        assert start + width < following


def test_a_training_that_was_not_run_has_no_panel():
    tables = select_training(TABLES, "tmaze-short")
    (axes,) = draw("spans", tables).axes
    assert "lengths 1–3" in axes.get_title(loc="left")
    panels = draw("nonlinear", tables).axes
    assert ["lengths 1–3" in axes.get_title() for axes in panels] == [True, False]


def test_a_figure_without_its_table_is_refused():
    with pytest.raises(InvalidOptionError, match="needs rows in 'curves'"):
        draw("learning", {"curves": {"seed": np.zeros(0)}})
