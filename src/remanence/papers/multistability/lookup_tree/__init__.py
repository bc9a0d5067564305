"""The paper's LookupTreeMaze experiment: a table seen once, used in every maze of a row."""

from pathlib import Path

from remanence.papers.multistability._looks import LOOKS
from remanence.papers.multistability.lookup_tree._figures import FIGURES
from remanence.papers.multistability.lookup_tree._summary import summarize
from remanence.papers.multistability.lookup_tree._tables import derive_tables
from remanence.papers.multistability.lookup_tree._task import check_task, name_task
from remanence.papers.multistability.lookup_tree.claims import CLAIMS, LATER_CLAIMS
from remanence.report import Experiment


def describe_experiment() -> Experiment:
    """What the report has to know of it."""
    return Experiment(
        name="lookup-tree",
        title="Is a table remembered while an index changes? The LookupTreeMaze",
        about="A LookupTreeMaze is a row of T-mazes. A table of directions is seen on the first "
        "step alone; at the entrance of each maze an index says which of its entries holds the "
        "reward at the junction. So one thing has to be remembered for ever, and another until the "
        "next maze. The sentences below are those of “On the Importance of Multistability for "
        "Horizon Generalization in Reinforcement Learning”; everything else on this page was made "
        "from the study's own files.",
        profiles=Path(__file__).parents[1] / "profiles",
        derive_tables=derive_tables,
        figures=FIGURES,
        claims=CLAIMS,
        later_claims=LATER_CLAIMS,
        about_rules="Mann and Whitney's test and Wilcoxon's are one-sided, in the claim's "
        "direction. Fisher's and that of Spearman's correlation are two-sided; the difference "
        "has to be in the claim's direction as well.",
        summarize=summarize,
        looks=LOOKS,
        qualify=name_task,
        check=check_task,
    )
