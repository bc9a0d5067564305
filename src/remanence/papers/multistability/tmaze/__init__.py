"""The paper's T-maze experiment: trained on short mazes or on long ones, asked about any length."""

from pathlib import Path

from remanence.papers.multistability._looks import LOOKS
from remanence.papers.multistability.tmaze._figures import FIGURES
from remanence.papers.multistability.tmaze._summary import summarize
from remanence.papers.multistability.tmaze._tables import derive_tables
from remanence.papers.multistability.tmaze.claims import CLAIMS
from remanence.report import Experiment


def describe_experiment() -> Experiment:
    """What the report has to know of it."""
    return Experiment(
        name="tmaze",
        title="Does memory outlast its training? The T-maze",
        about="In a T-maze a cue on the first step says which arm holds the reward, and the "
        "corridor between them may have any length. The sentences below are those of “On the "
        "Importance of Multistability for Horizon Generalization in Reinforcement Learning”; "
        "everything else on this page was made from the study's own files.",
        profiles=Path(__file__).parents[1] / "profiles",
        derive_tables=derive_tables,
        figures=FIGURES,
        claims=CLAIMS,
        summarize=summarize,
        looks=LOOKS,
        judged_greedily=True,
    )
