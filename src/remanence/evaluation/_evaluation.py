"""What an evaluation is: every episode and every decision as tables."""

import dataclasses

import numpy as np

from remanence.evaluation._summary import Columns, has_cues, summarize_episodes


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """Every episode, as columns of one table.

    `agent` is the seed or name of the agent; `axis` names the column of what grows; `cue` is a row
    of the environment's `cue_observations`, and is not there if it has none. Then `return`,
    `num_steps` and `end`, which is "right" (no wrong decision), "wrong" or "timeout"; and
    `num_right` of the `num_decisions` that were taken. `exact` says that the episodes are all there
    are, and not a sample. Of agents that sample, these are all ends that there are, each with its
    `probability` and the mean `num_steps` of the episodes that end so. Without a time limit a
    "timeout" is an episode that never ends, and its `num_steps` is masked.

    `decisions` counts right decisions against how many were taken before, with a row for each
    agent, value of what grows, cue and bin: the decisions from the `first` to the `last` of their
    episode (`space_bins`). Exact episodes have one decision at most, and none of this.

    >>> from remanence import evaluation
    >>> columns = {"agent": [0, 0], "delay": [5, 5], "return": [4.0, 4.0]}
    >>> columns |= {"num_steps": [5, 5], "end": ["right", "right"]}
    >>> episodes = {name: np.array(column) for name, column in columns.items()}
    >>> found = evaluation.Evaluation(episodes, "delay", exact=True)
    >>> found.summarize()["outcome"].tolist(), found.unit
    (['solved'], 'episodes')
    """

    episodes: Columns
    axis: str
    exact: bool
    decisions: Columns | None = None

    @property
    def unit(self) -> str:
        """What intervals are taken over: "cues" or "episodes"."""
        return "cues" if has_cues(self.episodes) else "episodes"

    @property
    def left_out(self) -> float:
        """How far probabilities of ends may be off, at most: what was too improbable to follow."""
        if "probability" not in self.episodes:
            return 0.0
        names = ("agent", self.axis, "cue")
        groups = np.stack([np.asarray(self.episodes[name]).astype(str) for name in names], 1)
        which = np.unique(groups, axis=0, return_inverse=True)[1].ravel()
        return float(np.max(1 - np.bincount(which, self.episodes["probability"]), initial=0.0))

    @property
    def decides_often(self) -> bool:
        """Whether some episode had more than one decision, or went on after the first."""
        taken, ends = self.episodes["num_decisions"], self.episodes["end"]
        return bool(np.any((taken > 1) | ((taken == 1) & (ends == "timeout"))))

    def summarize(self) -> Columns:
        """A row for each agent and length, as `summarize_episodes` has it."""
        return summarize_episodes(self.episodes, self.axis, exact=self.exact)
