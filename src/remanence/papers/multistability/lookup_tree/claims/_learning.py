"""Claims about learning curves."""

import numpy as np

from remanence.figures import Columns, Tables, count_rows, keep_rows, select_rows
from remanence.papers.multistability._judging import conclude
from remanence.papers.multistability.lookup_tree.claims._models import LEARNED
from remanence.report import (
    AGREES,
    Claim,
    Finding,
    say_number,
    say_share,
)

PLACE = "THG on the LookupTreeMaze"


def judge_all_learn(tables: Tables) -> Finding:
    """Mean returns in the last tenth of training, one for each agent."""
    models = find_ends(tables)
    able = models["end"] >= LEARNED
    lowest = f"lowest: {say_number(models['end'].min())}" if count_rows(models) else ""
    ours = f"{say_share(able)} end their training with {LEARNED:g} or more"
    return conclude(f"{ours} ({lowest})", able.all(), models)


def find_ends(tables: Tables) -> Columns:
    """The mean return of each agent in the last tenth of a finished training, as `end`."""
    curves = select_rows(tables["curves"], finished=True)
    last = keep_rows(curves, curves["iteration"] > 0.9 * curves["num_iterations"])
    agents = sorted(set(zip(last["job"].tolist(), last["seed"].tolist(), strict=True)))
    found = [select_rows(last, job=job, seed=seed) for job, seed in agents]
    labels = {
        name: np.array([rows[name][0] for rows in found])
        for name in ("preset", "model", "num_iterations")
    }
    return labels | {"end": np.array([rows["return"].mean() for rows in found])}


CLAIMS = {
    "all-learn": Claim(
        "We train all models on a random number of T-mazes, between 1 and 20, with maze sizes "
        "chosen uniformly from 1 to 3, and all models manage to learn the task.",
        f"every model's mean return in the last tenth of its training is {LEARNED:g} or more, a "
        "quarter of the way from a coin flip (1.95) to the best return (4)",
        judge_all_learn,
        brief="All models learn the task",
        overturned=AGREES,
        place=PLACE,
        how_many=True,
    ),
}
