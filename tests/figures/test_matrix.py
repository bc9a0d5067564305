"""The matrix says what its table says, in an order in which what varies stands out."""

import numpy as np

from remanence.figures import draw_matrix, save_figure

VERDICTS = {
    "always": ("agrees", "agrees", "agrees"),
    "open": ("untested", "untested", "untested"),
    "often": ("agrees", "disagrees", "agrees"),
    "never": ("disagrees", "untested", "disagrees"),
    "rarely": ("disagrees", "disagrees", "agrees"),
}
VARIANTS = ("default", "one", "other")


def make_tables():
    rows = [
        (claim, claim.title(), variant, verdict, variant != "one")
        for claim, verdicts in VERDICTS.items()
        for variant, verdict in zip(VARIANTS, verdicts, strict=True)
    ]
    names = ("claim", "label", "variant", "verdict", "sure")
    return {"verdicts": {it: np.array([row[n] for row in rows]) for n, it in enumerate(names)}}


def test_rows_go_from_what_depends_to_what_does_not():
    figure = draw_matrix(make_tables())
    (axes,) = figure.axes
    assert [it.get_text() for it in axes.get_yticklabels()] == [
        *("Rarely", "Often", "Never"),
        "1 more agrees wherever it is tested",
        "1 more tested in no column",
    ]
    assert [it.get_text() for it in axes.get_xticklabels()] == list(VARIANTS)
    marks = [it.get_text() for it in axes.texts if it.get_text() in "✓✗–"]
    assert marks == ["✗", "✗", "✓", "✓", "✗", "✓", "✗", "–", "✗"]
    assert len(figure.legends[0].get_texts()) == 5


def test_every_column_counts_its_agreements():
    (axes,) = draw_matrix(make_tables()).axes
    told = [it.get_text() for it in axes.texts]
    assert [it for it in told if it.isdigit()] == ["2", "1", "3"]
    assert [it for it in told if it.startswith("of ")] == ["of 4", "of 3", "of 4"]


def test_a_matrix_of_one_row_can_be_drawn(tmp_path):
    """Names of variants are long, and must leave room for it."""
    tables = make_tables()
    found = tables["verdicts"]
    one = {name: column[found["claim"] == "open"] for name, column in found.items()}
    one["variant"] = np.array(["default", "paper-step-and-more", "something-else"])
    # What does not fit is told by a warning, which is an error in tests.
    save_figure(draw_matrix({"verdicts": one}), tmp_path / "matrix.png", dots_per_inch=30)
