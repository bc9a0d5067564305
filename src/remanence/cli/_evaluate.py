"""`remanence evaluate`: how far the memory of trained agents reaches."""

import dataclasses
import json
import math
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.console import Console

from remanence.cli._agents import open_agents
from remanence.cli._certified import ROUNDING
from remanence.cli._command import OPTIONAL, Command, print_text
from remanence.cli._evaluation_tables import tabulate_evaluation
from remanence.cli._progress import show_count
from remanence.envs import AbstractEnvironment, space_lengths
from remanence.errors import InvalidOptionError
from remanence.evaluation import Evaluation
from remanence.study import AgentGroup, evaluate_agents, measure_agents, stages
from remanence.training import RunDirectory, keep_compiled_programs

_DECISIONS = """\
Of decisions: the share that is right among those taken, with its interval; how
many an episode takes, a mean; the share of episodes that run out of time.
"""


@dataclasses.dataclass(frozen=True)
class Evaluate(Command):
    """Run trained agents at lengths far beyond those of their training.

    Writes into the run: evaluations.parquet (every episode), outcomes.parquet (a row for each agent
    and length), stability.parquet and orbits.parquet (what kind of memory it is), and a picture of
    return against length, evaluation.png; with --sampled all of these but stability and orbits are
    called sampled_... instead. What is called a length here is the number of mazes in a
    LookupTreeMaze, and in an environment of your own whatever it says that grows. Where an episode
    has more than one decision, decisions.parquet tells how many are right against how many were
    taken before. Greedy episodes of a T-maze are exact and fast-forwarded: a million steps cost no
    more than a few hundred. Of agents that sample in a T-maze, the probability of each end is
    computed; episodes are drawn where an agent draws too evenly for that.

    Example: remanence evaluate runs/gru --lengths 2:1e6
    """

    run_: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN")]
    """A run's directory, or the file of one agent."""
    lengths: Annotated[tuple[str, ...], tyro.conf.arg(metavar="LENGTH", help_behavior_hint="")] = ()
    """2:1e6 (ten for each factor of ten) or 10 100 1e4; the usual ones if not given."""
    seeds: Annotated[str | None, OPTIONAL] = None
    """Only these seeds of the run, such as 1-6 or 1,4,7."""
    sampled: bool = False
    """Sample actions as in training, instead of taking the likeliest."""
    num_episodes: Annotated[int | None, OPTIONAL] = None
    """Episodes at each length, where not all can be tried; about 100 if not given."""
    plain: bool = False
    """Take every step one by one: slow, and the same to the bit; with --sampled, draw actions."""
    out: Annotated[Path | None, OPTIONAL] = None
    """Where to write; the run's directory if not given."""
    json: bool = False
    """Print one JSON object instead of a table."""

    def run(self, console: Console) -> None:
        keep_compiled_programs()
        group = open_agents(self.run_, self.seeds, self.out)
        lengths = parse_lengths(" ".join(self.lengths)) if self.lengths else None
        with show_count("evaluating") as show:
            evaluation = evaluate_agents(
                group,
                lengths,
                sampled=self.sampled,
                num_episodes=self.num_episodes,
                plain=self.plain,
                on_agent=show,
            )
        stability = dict.fromkeys(group.agents, "")
        if stages["stability"].supports(group.env[0]):
            with show_count("measuring stability") as show:
                stability = measure_agents(group, on_agent=show)
        out = group.records.path
        _draw(_name_picture(out, self.sampled), group.env, evaluation, stability)
        if self.json:
            print(json.dumps(_to_json(evaluation, stability, out), allow_nan=False))
            return
        tables, narrow = tabulate_evaluation(console, evaluation, stability)
        for table in tables:
            console.print(table)
            console.print()
        if narrow:
            print_text(console, f"There is no room for more columns. {self._name_rest(out)}")
        console.print(_explain(evaluation, group, self.sampled), highlight=False, soft_wrap=False)

    def _name_rest(self, out: Path) -> str:
        """Where the values are that have no column."""
        table = "sampled_outcomes" if self.sampled else "outcomes"
        if RunDirectory(out).exists:
            return f"To see all:  {self.propose('results', out, table)}"
        return f"All are in {out / table}.parquet."


def parse_lengths(text: str) -> list[int]:
    """Lengths as they are typed: 2:1e6 is log-spaced; 10 100 1e4 or 10,100,10_000 is a list."""
    ends = text.split(":")
    if len(ends) == 2:
        low, high = (_parse_length(text, end) for end in ends)
        return space_lengths(low, high)
    return [_parse_length(text, part) for part in text.replace(",", " ").split() or [""]]


def _parse_length(text: str, part: str) -> int:
    try:
        length = float(part)
    except ValueError:
        length = math.nan
    if not length.is_integer() or length < 1:
        remedy = (
            "write 2:1e6, or whole numbers of 1 or more such as 10 100 1e4 or 10,100,1000; a comma "
            "separates them, so write ten thousand as 10000, 10_000 or 1e4"
        )
        raise InvalidOptionError("lengths", text, remedy)
    return int(length)


def _draw(path: Path, env: Any, evaluation: Evaluation, stability: dict[int, str]) -> None:
    from remanence.figures import draw_returns, save_figure  # brings matplotlib, which is slow

    environment, params = env
    figure = draw_returns(
        evaluation.summarize(),
        stability,
        label=_label(environment),
        levels=environment.levels(params),
    )
    save_figure(figure, path)


def _label(environment: AbstractEnvironment) -> str:
    """What grows, in words."""
    return environment.growth.label if environment.growth else ""


def _to_json(evaluation: Evaluation, stability: dict[int, str], out: Path) -> dict:
    summary = {
        # JSON has no NaN.
        name: [None if value != value else value for value in column.tolist()]
        for name, column in evaluation.summarize().items()
    }
    return {"out": str(out), "exact": evaluation.exact, "stability": stability, "summary": summary}


def _explain(evaluation: Evaluation, group: AgentGroup, sampled: bool) -> str:
    environment, params = group.env
    kind = f"the mean of all episodes, with its 95% interval over {evaluation.unit}"
    each = "episode"
    if evaluation.exact:
        kind = "exact, and a mean over all cues"
    if evaluation.exact and sampled:
        left_out = max(evaluation.left_out, ROUNDING)
        kind = f"means over all cues and draws, of which {left_out:.0e} is left out at most"
        each = "end of an episode, with its probability,"
    more = _DECISIONS if evaluation.decides_often else ""
    levels = ", ".join(f"{name} {value:g}" for name, value in environment.levels(params).items())
    out = group.records.path
    table = "sampled_evaluations" if sampled else "evaluations"
    return (
        f"Columns are values of the {_label(environment)}; numbers are returns,\n{kind}.\n"
        f"{more}To compare with: {levels}.\nEvery {each} is in {out / table}.parquet,\n"
        f"the curves are in {_name_picture(out, sampled)}."
    )


def _name_picture(out: Path, sampled: bool) -> Path:
    """Apart for agents that sample, like their tables."""
    return out / ("sampled_evaluation.png" if sampled else "evaluation.png")
