"""What an experiment brings to the report: its words, tables, figures and claims.

An experiment is a folder that plugs in: it makes an `Experiment` in a function, and registers that
function in `experiments` under the name that its studies have.
"""

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from remanence.figures import Looks, StudyFigure, Tables
from remanence.report._claims import Claim, Finding
from remanence.report._records import Records
from remanence.report._registry import experiments
from remanence.study import Study

Summarize = Callable[[Tables, Mapping[str, Finding]], Sequence[str]]
LONGEST_SUMMARY = 5


@dataclasses.dataclass(frozen=True)
class Experiment:
    """One experiment, whatever the size of the study that it was run as.

    `name` is what `remanence reproduce` takes and what study.json calls it; `title` and `about`
    are for the top of the page. `profiles` is a folder of files NAME-PROFILE.toml. Figures and
    claims read the tables that `derive_tables` makes of a study's records; they are shown in their
    order, the first figure at the top. `summarize` says in up to five sentences what came out.
    `later_claims` are the names of claims whose rules were written when a study had been run, and
    `about_rules` says what holds for the rules of several. `looks` names models and trainings for
    people. `judged_greedily` says that claims are about agents that take their best action, so that
    those that sample are another arm. Where studies of one experiment may be about different tasks,
    `qualify` says in a few words which one the tables are of, for the title; and `check` raises
    before anything is trained if a study's runs could not be on one page.

    >>> from pathlib import Path
    >>> from remanence import report
    >>> experiment = report.Experiment(
    ...     name="copying",
    ...     title="Do copies last?",
    ...     about="",
    ...     profiles=Path("profiles"),
    ...     derive_tables=report.derive_common_tables,
    ...     figures={"learning": report.LEARNING},
    ...     claims={},
    ...     summarize=lambda tables, findings: ["Nothing was claimed."],
    ... )
    >>> tables = experiment.derive_tables(report.read_records("examples/agents/mingru"))
    >>> experiment.figures["learning"].list_absent(tables)
    []
    """

    name: str
    title: str
    about: str
    profiles: Path
    derive_tables: Callable[[Records], Tables]
    figures: Mapping[str, StudyFigure]
    claims: Mapping[str, Claim]
    summarize: Summarize
    looks: Looks = dataclasses.field(default_factory=Looks)
    qualify: Callable[[Tables], str] = lambda tables: ""
    check: Callable[[Study], None] = lambda study: None
    judged_greedily: bool = False
    later_claims: Collection[str] = ()
    about_rules: str = ""

    def entitle(self, tables: Tables) -> str:
        """The title of a page about a study.

        >>> from remanence import report
        >>> report.find_experiment("mine").entitle({})
        'What was found in “mine”'
        """
        which = self.qualify(tables)
        return f"{self.title} ({which})" if which else self.title


def find_experiment(name: str) -> Experiment:
    """The experiment of that name, or for any other what can be said of every study.

    >>> from remanence import report
    >>> list(report.find_experiment("a study of mine").figures)
    ['returns', 'learning']
    """
    from remanence.report._any_study import describe_any_study  # which makes an experiment itself

    return experiments[name]() if name in experiments else describe_any_study(name)
