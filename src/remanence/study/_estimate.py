"""How long a study will take, and how much disk: before it starts, and on its way."""

import dataclasses
import math
import os
from collections.abc import Sequence

from remanence.evaluation import BUDGET
from remanence.study._plan import Job
from remanence.study._status import DONE, RUNNING, StudyStatus
from remanence.training import get_preset

# Measured on two cores of a server processor, in seconds of one core. Bytes are those of a run's
# files; the weights and Adam's moments are most of them.
CORE_SECONDS_PER_ITERATION = {"tmaze": 0.12, "deep-mingru": 2.5}
# Agents that are trained on long mazes wander about, so that fewer of their histories are alike;
# measured with small networks alone.
SLOWER_PRESETS = {"tmaze-long": 2.5}
# With a certificate's usual budget. A deep network's memory takes so long to settle that it uses
# all of it; measured roughly, with a tenth of it and lengths up to a hundredth of the usual.
CORE_SECONDS_PER_AGENT = {"tmaze": 3.0, "deep-mingru": 500.0}
SECONDS_TO_COMPILE = {"tmaze": 15.0, "deep-mingru": 30.0}
BYTES_PER_AGENT = {"tmaze": 60e3, "deep-mingru": 13e6}
BYTES_PER_EPISODE = 4.0
BYTES_PER_ITERATION = 40.0

# So many seconds of a study are weighed against what was foreseen before that is corrected.
SECONDS_OF_TRUST = 60.0


@dataclasses.dataclass(frozen=True)
class Estimate:
    """What a job or a study is expected to take."""

    seconds: float
    disk_bytes: float

    def __add__(self, other: "Estimate") -> "Estimate":
        return Estimate(self.seconds + other.seconds, self.disk_bytes + other.disk_bytes)


def estimate(jobs: Sequence[Job], num_cores: int | None = None) -> Estimate:
    """What jobs, one after another on so many cores, are expected to take."""
    cores = num_cores or os.cpu_count() or 1
    return sum((_estimate_job(job, cores) for job in jobs), Estimate(0.0, 0.0))


def estimate_seconds_left(status: StudyStatus, num_workers: int = 1) -> float:
    """How long the rest of a study will take if it goes on as it went."""
    foreseen = gone = spent = 0.0
    for job in status.study.jobs:
        seconds, share = estimate([job]).seconds, _measure_share(status, job)
        foreseen += seconds
        gone += seconds * share
        # A job that is taken up again does not know how far it is until it has said so.
        spent += status.jobs[job.id].seconds if share else 0.0
    pace = (spent + SECONDS_OF_TRUST) / (gone + SECONDS_OF_TRUST)
    return pace * (foreseen - gone) / num_workers


def _estimate_job(job: Job, num_cores: int) -> Estimate:
    # A network that nobody has measured is taken for a small one.
    network = job.network if job.network in CORE_SECONDS_PER_ITERATION else "tmaze"
    rounds = math.ceil(len(job.seeds) / num_cores)
    core_seconds = CORE_SECONDS_PER_ITERATION[network] * SLOWER_PRESETS.get(job.preset, 1.0)
    iterations = job.num_iterations * _compare_work(job) * core_seconds
    per_agent = CORE_SECONDS_PER_AGENT[network] * job.budget / BUDGET
    seconds = rounds * iterations + len(job.seeds) * per_agent
    per_seed = (
        BYTES_PER_AGENT[network]
        + 2 * len(job.lengths) * BYTES_PER_EPISODE
        + job.num_iterations * BYTES_PER_ITERATION
    )
    return Estimate(seconds + SECONDS_TO_COMPILE[network], len(job.seeds) * per_seed)


def _compare_work(job: Job) -> float:
    """How much an iteration does, next to one with the preset's numbers."""
    ours, usual = job.make_config(), get_preset(job.preset).config
    return (ours.num_envs * ours.num_steps * (ours.policy_epochs + ours.value_epochs)) / (
        usual.num_envs * usual.num_steps * (usual.policy_epochs + usual.value_epochs)
    )


def _measure_share(status: StudyStatus, job: Job) -> float:
    """How much of a job is over, from 0 to 1; what follows training is left out."""
    found = status.jobs[job.id]
    if found.state == DONE:
        return 1.0
    return 0.95 * found.iteration / job.num_iterations if found.state == RUNNING else 0.0
