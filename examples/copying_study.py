"""A study of one's own: two cells, one figure, one claim, about the task of delayed_copy.py.

    remanence reproduce copying --profile tiny --import examples/copying_study.py
    remanence report studies/copying-tiny --import examples/copying_study.py

Its sizes are TOML files beside this one. Running this file does both of the above.
"""

from pathlib import Path

import delayed_copy  # noqa: F401  makes the task known
import numpy as np

from remanence.cli import main
from remanence.figures import make_figure, select_rows
from remanence.report import (
    Claim,
    Experiment,
    StudyFigure,
    conclude,
    derive_common_tables,
    experiments,
)
from remanence.training import PPOConfig, Preset, register_preset


def draw_reach(tables):
    """The share of agents that solve each delay."""
    outcomes = tables["outcomes"]
    figure = make_figure()
    axes = figure.add_subplot()
    for model in np.unique(outcomes["model"]):
        mine = select_rows(outcomes, model=model)
        delays = np.unique(mine["delay"])
        solved = [np.mean(mine["outcome"][mine["delay"] == it] == "solved") for it in delays]
        axes.plot(delays, solved, "o-", label=model)
    axes.set(
        xscale="log", xlabel="delay (steps)", ylabel="agents that solve it", ylim=(-0.05, 1.05)
    )
    axes.legend()
    return figure


def judge_reach(tables):
    """Who still solves the longest delay."""
    outcomes = tables["outcomes"]
    longest = select_rows(outcomes, delay=outcomes["delay"].max())
    groups = [select_rows(longest, model=model) for model in ("bmru", "mingru")]
    counts = [int(np.sum(group["outcome"] == "solved")) for group in groups]
    shown = [
        f"{count} of {len(group['seed'])}" for count, group in zip(counts, groups, strict=True)
    ]
    words = f"after {outcomes['delay'].max():,} steps {shown[0]} BMRUs and {shown[1]} minGRUs do"
    return conclude(words, counts[0] > counts[1], *groups, fewest=2)


def describe():
    return Experiment(
        name="copying",
        title="Copying a symbol after a delay",
        about="Agents learn to repeat a symbol after 1 to 5 steps, and are tried up to 1,000.",
        profiles=Path(__file__).parent,
        derive_tables=derive_common_tables,
        figures={
            "reach": StudyFigure(
                draw_reach,
                needs=("outcomes",),
                title="How long a symbol is remembered",
                caption="The share of agents that repeat every symbol rightly after each delay.",
            )
        },
        claims={
            "bmru-lasts": Claim(
                sentence="A memory with several stable states outlasts one that fades.",
                rule="at the longest delay more BMRUs than minGRUs repeat every symbol",
                judge=judge_reach,
                place="our own guess",
            )
        },
        summarize=lambda tables, findings: [
            f"Who repeats every symbol? Of the agents, {findings['bmru-lasts'].ours}."
        ],
    )


experiments.register("copying", describe)
register_preset(
    "delayed-copy-short",
    Preset(
        "delayed-copy",
        {"delay": (1, 5)},
        config=PPOConfig(
            num_envs=32,
            num_steps=32,
            policy_epochs=4,
            value_epochs=4,
            policy_learning_rate=0.01,
            value_learning_rate=0.01,
            discount=0.9,
        ),
    ),
)

if __name__ == "__main__":
    this = ["--import", __file__]
    try:
        main(["reproduce", "copying", "--profile", "tiny", *this])
    except SystemExit as ended:
        if ended.code:
            raise
    main(["report", "studies/copying-tiny", *this])
