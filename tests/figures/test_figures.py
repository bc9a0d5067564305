"""Each figure shows what it was given: its lines are read back and compared."""

import jax.numpy as jnp
import numpy as np
import pytest

from remanence.dynamics import map_basins, trace_bifurcation
from remanence.errors import InvalidOptionError
from remanence.figures import draw_basins, draw_bifurcation, draw_returns, save_figure

SUMMARY = {
    "agent": np.array([1, 1, 1, 2, 2, 2]),
    "length": np.array([2, 30, 1000] * 2),
    "return": np.array([4.0, 4.0, 4.0, 4.0, 1.95, 0.0]),
    "low": np.array([4.0, 4.0, 4.0, 4.0, 1.95, 0.0]),
    "high": np.array([4.0, 4.0, 4.0, 4.0, 1.95, 0.0]),
}


def pull_apart(state):
    """Two stable points, -1 and 1 along the first axis, and 0 along the second."""
    return jnp.stack([jnp.tanh(3 * state[0]), state[1] / 2])


def test_returns_are_a_line_for_each_agent_in_the_colour_of_its_stability():
    levels = {"best": 4.0, "by chance": 1.95, "nothing": 0.0, "next to nothing": -0.1}
    kinds = {1: "bistable", 2: "monostable"}
    figure = draw_returns(SUMMARY, kinds, title="GRU", label="how long it is", levels=levels)
    (axes,) = figure.axes
    lines = {line.get_label(): line for line in axes.lines}
    for agent in (1, 2):
        members = SUMMARY["agent"] == agent
        line = lines[f"agent {agent}"]
        np.testing.assert_array_equal(line.get_xdata(), SUMMARY["length"][members])
        np.testing.assert_array_equal(line.get_ydata(), SUMMARY["return"][members])
    assert lines["agent 1"].get_color() != lines["agent 2"].get_color()
    texts = {text.get_text() for text in axes.texts}
    # What would be written over another name is not written.
    assert texts == {"1 of 2", "best", "by chance", "nothing"}
    assert axes.get_xlabel() == "how long it is"
    assert axes.get_ylabel()


def test_basins_colour_the_plane_and_mark_the_attractors():
    basins = map_basins(pull_apart, np.zeros(2), np.eye(2), resolution=8)
    (axes,) = draw_basins(basins, ("first", "second")).axes
    shown = np.asarray(axes.collections[0].get_array())
    np.testing.assert_array_equal(shown.ravel(), basins.labels.ravel() + 1)
    marked = np.sort([np.asarray(line.get_xdata()).item() for line in axes.lines])
    np.testing.assert_allclose(marked, [-0.9949, 0.9949], atol=1e-3)
    legend = axes.get_legend()
    assert legend is not None
    words = [text.get_text() for text in legend.get_texts()]
    assert words == ["point, 50% of the plane"] * 2


def test_bifurcation_shows_every_point_once_filled_where_it_is_stable():
    def make_step(weight):
        return lambda state: jnp.tanh(weight * state)

    starts = np.linspace(-1, 1, 8)[:, None]
    bifurcation = trace_bifurcation(make_step, [0.5, 2.0], starts)
    (axes,) = draw_bifurcation(bifurcation, parameter_name="gain").axes
    stable, unstable = axes.lines
    assert [np.size(line.get_xdata()) for line in (stable, unstable)] == [3, 1]
    assert stable.get_markerfacecolor() != unstable.get_markerfacecolor()
    assert axes.get_xlabel() == "gain"


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_the_same_figure_gives_the_same_file(suffix, tmp_path):
    for name in ("one", "two"):
        figure = draw_returns(SUMMARY, {1: "bistable", 2: "monostable"})
        save_figure(figure, tmp_path / f"{name}.{suffix}")
    one, two = ((tmp_path / f"{name}.{suffix}").read_bytes() for name in ("one", "two"))
    assert one == two
    assert len(one) > 1000


def test_formats_that_are_not_known_are_refused(tmp_path):
    with pytest.raises(InvalidOptionError, match=r"\.png"):
        save_figure(draw_returns(SUMMARY, {1: "bistable"}), tmp_path / "figure.bmp")
