"""How long a study will take, and how much disk: before it starts, and on its way."""

import dataclasses
import functools
import math
from collections.abc import Sequence

from remanence.certificates import BUDGET
from remanence.study._plan import Job
from remanence.study._stages import stages
from remanence.study._status import DONE, FAILED, RUNNING, JobStatus, StudyStatus
from remanence.training import Cost, count_cores, get_preset

BYTES_PER_EPISODE = 4.0
BYTES_PER_ITERATION = 40.0
EPISODES_PER_LENGTH = 2

# So many seconds of a study are weighed against what was foreseen before that is corrected.
SECONDS_OF_TRUST = 60.0


@dataclasses.dataclass(frozen=True)
class Estimate:
    """What jobs are expected to take.

    >>> from remanence import study
    >>> study.Estimate(seconds=90.0, disk_bytes=2e6).seconds / 60
    1.5
    """

    seconds: float
    disk_bytes: float


def estimate(jobs: Sequence[Job], num_workers: int = 1, num_cores: int | None = None) -> Estimate:
    """What jobs are expected to take, so many at a time, that share so many cores.

    >>> from remanence import study
    >>> job = study.Job("gru", "lookup-tree-maze", "small", "gru", [1, 2], 250, lengths=[2, 100])
    >>> alone, shared = (study.estimate([job], num_cores=number) for number in (1, 2))
    >>> alone.seconds > shared.seconds, alone.disk_bytes == shared.disk_bytes
    (True, True)
    """
    num_workers = min(num_workers, num_cores or count_cores())
    pace = _Pace.share(num_workers, num_cores)
    at_a_time = min(num_workers, max(1, len(jobs)))
    return Estimate(
        seconds=sum(pace.foresee(job) for job in jobs) / at_a_time,
        disk_bytes=sum(map(_foresee_bytes, jobs)),
    )


def fit_seeds(job: Job, seconds: float, num_cores: int) -> int:
    """How many of a job's seeds are expected to take so long at most, on so many cores.

    As many as there are cores are taken at least, and no core is left without a seed.

    >>> from remanence import study
    >>> seeds = list(range(1, 31))
    >>> job = study.Job("gru", "lookup-tree-maze", "small", "gru", seeds, 250, lengths=[2, 100])
    >>> study.fit_seeds(job, seconds=1.0, num_cores=4), study.fit_seeds(job, 1e6, num_cores=4)
    (4, 30)
    """
    pace = _Pace(num_cores)
    number = len(job.seeds)
    for more in range(num_cores, number, num_cores):
        some = dataclasses.replace(job, seeds=job.seeds[: more + num_cores])
        if pace.foresee(some) > seconds:
            return more
    return number


def estimate_seconds_left(
    status: StudyStatus, num_workers: int = 1, num_cores: int | None = None
) -> float:
    """How long the rest of a study will take if it goes on as it went.

    Workers share the cores of this machine, or have so many each, as on a cluster.

    >>> from remanence import study
    >>> job = study.Job("gru", "lookup-tree-maze", "small", "gru", [1, 2], 250, lengths=[2, 100])
    >>> plan = study.Study("recall", "tiny", "Two seeds show nothing.", [job])
    >>> done = study.StudyStatus(plan, {"gru": study.JobStatus("done")})
    >>> study.estimate_seconds_left(done)
    0.0
    """
    if num_cores is None:
        num_workers = min(num_workers, count_cores())  # the more there are, the slower is each
    pace = _Pace(num_cores) if num_cores else _Pace.share(num_workers)
    foreseen = gone = spent = 0.0
    num_left = 0
    for job in status.study.jobs:
        found = status.jobs[job.id]
        if found.state == FAILED:
            continue
        seconds, share = pace.foresee(job), _measure_share(status, job, pace)
        foreseen += seconds
        gone += seconds * share
        num_left += found.state != DONE
        # A job that is taken up again does not know how far it is until it has said so.
        spent += found.seconds if share else 0.0
    correction = (spent + SECONDS_OF_TRUST) / (gone + SECONDS_OF_TRUST)
    return correction * (foreseen - gone) / max(1, min(num_workers, num_left))


@dataclasses.dataclass(frozen=True)
class _Pace:
    """How fast a job is on so many cores."""

    num_cores: int

    @staticmethod
    def share(num_workers: int, num_cores: int | None = None) -> "_Pace":
        """That of each of several workers."""
        return _Pace(max(1, (num_cores or count_cores()) // num_workers))

    def foresee(self, job: Job) -> float:
        """Seconds for all of a job."""
        return _foresee(self, job)

    def foresee_training(self, job: Job, num_iterations: int) -> float:
        """Seconds until so many iterations of its training are over."""
        cost = _find_cost(job)
        rounds = math.ceil(len(job.seeds) / self.num_cores)
        iterations = num_iterations * cost.seconds_per_iteration * _compare_work(job)
        return cost.seconds_to_compile + rounds * iterations


@functools.lru_cache(100_000)  # asked of every job at every look
def _foresee(pace: _Pace, job: Job) -> float:
    cost = _find_cost(job)
    per_agent = cost.seconds_per_agent * job.budget / BUDGET
    per_agent += cost.seconds_per_size * sum(job.lengths)
    return pace.foresee_training(job, job.num_iterations) + len(job.seeds) * per_agent


def _find_cost(job: Job) -> Cost:
    return get_preset(job.preset).find_cost(job.network, job.cell)


def _foresee_bytes(job: Job) -> float:
    per_seed = (
        _find_cost(job).bytes_per_agent
        + EPISODES_PER_LENGTH * len(job.lengths) * BYTES_PER_EPISODE
        + job.num_iterations * BYTES_PER_ITERATION
    )
    return len(job.seeds) * per_seed


def _compare_work(job: Job) -> float:
    """How much an iteration does, next to one with the preset's numbers."""
    ours, usual = job.make_config(), get_preset(job.preset).config
    return (ours.num_envs * ours.num_steps * (ours.policy_epochs + ours.value_epochs)) / (
        usual.num_envs * usual.num_steps * (usual.policy_epochs + usual.value_epochs)
    )


def _measure_share(status: StudyStatus, job: Job, pace: _Pace) -> float:
    """How much of a job is over, from 0 to 1."""
    found = status.jobs[job.id]
    if found.state != RUNNING:
        return float(found.state == DONE)
    if not found.iteration:
        return 0.0
    trained = pace.foresee_training(job, found.iteration) / pace.foresee(job)
    return trained + (1 - trained) * _measure_rest(job, found)


def _measure_rest(job: Job, found: JobStatus) -> float:
    """How much is over of what follows training, whose stages are taken to be equally long."""
    doing = [stages[name].doing for name in job.stages]
    if found.stage not in doing:
        return 0.0
    agents = max(0, found.agent - 1) / max(1, found.num_agents)
    return (doing.index(found.stage) + agents) / len(doing)
