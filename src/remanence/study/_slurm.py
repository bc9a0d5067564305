"""A study on a cluster with Slurm: run, submitted and left to itself, watched, cancelled."""

import contextlib
import dataclasses
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path

from remanence.errors import InvalidOptionError, StoreError
from remanence.store import find_user
from remanence.study._cluster import (
    MOST_REFUSALS,
    ClusterExecutor,
    find_jobs,
    look_again_and_again,
)
from remanence.study._directory import StudyDirectory
from remanence.study._estimate import fit_seeds
from remanence.study._jobs import run_job
from remanence.study._ledger import Ledger
from remanence.study._plan import Study
from remanence.study._queue import QueueError
from remanence.study._runner import set_waiting, take_up
from remanence.study._shards import split_job
from remanence.study._slurm_options import SlurmOptions
from remanence.study._slurm_queue import SlurmQueue, import_submitit

# What was foreseen may be too little, on slower nodes than those it was measured on.
SHARE_OF_TIME = 0.6


def split_study(study: Study, options: SlurmOptions) -> Study:
    """The study in jobs of so many seeds that each is expected to fit the time asked for.

    There is a seed for every core, as far as a job has so many. On accelerators, where all seeds
    are one batch, jobs are left as they are.

    >>> from remanence import study
    >>> seeds = list(range(1, 31))
    >>> job = study.Job("gru", "lookup-tree-maze", "small", "gru", seeds, 250, lengths=[2, 100])
    >>> plan = study.Study("recall", "tiny", "", [job])
    >>> len(study.split_study(plan, study.SlurmOptions(time="1:00:00")).jobs)
    1
    >>> len(study.split_study(plan, study.SlurmOptions(time="5", cpus=2)).jobs) > 1
    True
    """
    if options.gpus:
        return study
    seconds = SHARE_OF_TIME * options.seconds
    jobs = [
        shard
        for job in study.jobs
        for shard in split_job(job, fit_seeds(job, seconds, options.cpus))
    ]
    return dataclasses.replace(study, jobs=jobs)


def open_slurm(
    path: str | Path, options: SlurmOptions
) -> Callable[[], contextlib.AbstractContextManager[Executor]]:
    """What `run_study` opens to run the study at `path` on the cluster.

    Jobs stay in the queue when the process ends; they are found again when it is started again.

    >>> from remanence import study
    >>> callable(study.open_slurm("study", study.SlurmOptions()))
    True
    """
    directory = StudyDirectory(Path(path).absolute())

    @contextlib.contextmanager
    def open_executor() -> Iterator[Executor]:
        queue = open_queue(directory, options)
        with look_again_and_again(ClusterExecutor(directory, queue)) as executor:
            yield executor

    return open_executor


def submit_study(
    path: str | Path,
    study: Study,
    options: SlurmOptions,
    *,
    command: Sequence[str] | None = None,
    rules: Mapping[str, str] | None = None,
) -> int:
    """Submit what is left of a study, and return how many of its jobs are in the queue then.

    What is there already is not submitted again. Nobody looks after the jobs: one that fails is
    tried again when the study is run or submitted again.

    >>> import shutil
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from pathlib import Path
    >>> from remanence import study, training
    >>> run = training.RunDirectory(Path("examples/agents/mingru"))
    >>> task = run.read_description()["what"]["environment"]["name"]
    >>> _ = training.register_preset("recall", training.Preset(task, {"length": (1, 3)}))
    >>> asked = {"lengths": [2], "stages": ["evaluate"]}
    >>> job = study.Job("mingru", "recall", "small", "mingru", [1], 250, **asked)
    >>> plan = study.Study("mine", "tiny", "", [job])
    >>> _ = study.StudyDirectory(Path("study")).begin(plan)
    >>> _ = shutil.copytree(run.path, "study/runs/mingru")  # trained already
    >>> _ = study.run_study("study", plan, open_executor=lambda: ThreadPoolExecutor(1))
    >>> study.submit_study("study", plan, study.SlurmOptions())  # nothing is left of it
    0
    >>> training.presets.unregister("recall")
    """
    with take_up(path, study, command, rules) as (directory, left, _):
        if not left:
            return 0
        executor = ClusterExecutor(directory, open_queue(directory, options), most=len(left))
        set_waiting(directory, left)
        for job in left:
            executor.submit(run_job, directory.path, job)
        for _ in range(MOST_REFUSALS):
            executor.look()
        num_waiting = executor.num_waiting
        if num_waiting:
            raise QueueError(
                f"The cluster took {len(left) - num_waiting} of {len(left)} jobs, and no more now. "
                "Run the same command again when some are done, or without --detach."
            )
        return len(left)


def cancel_study(path: str | Path) -> int:
    """Stop all work on a study, wherever it is done; returns how many jobs were in a queue.

    What runs saves itself first. The study goes on when it is run again.

    >>> from pathlib import Path
    >>> from remanence import study
    >>> job = study.Job("gru", "lookup-tree-maze", "small", "gru", [1, 2], 250, lengths=[2, 100])
    >>> plan = study.Study("recall", "tiny", "Two seeds show nothing.", [job])
    >>> _ = study.StudyDirectory(Path("study")).begin(plan)
    >>> study.cancel_study("study")
    0
    """
    directory = StudyDirectory(Path(path).absolute())
    directory.read_description()
    directory.set_cancelled(True)
    ledger = Ledger(directory.cluster_path)
    if not ledger.exists:
        return 0
    queue = SlurmQueue(directory.path, ledger)
    found = queue.look()
    if found is None:
        raise QueueError("Slurm does not answer; where it does, run the same command again.")
    queue.cancel(list(found))
    ledger.write_failures({})
    return len(found)


def read_queue(path: str | Path) -> dict[str, str]:
    """What Slurm says of a study's jobs that are in its queue; nothing where it cannot be asked.

    >>> from remanence import study
    >>> study.read_queue("never submitted")
    {}
    """
    directory = StudyDirectory(Path(path).absolute())
    ledger = Ledger(directory.cluster_path)
    if not ledger.exists:
        return {}
    found = SlurmQueue(directory.path, ledger).look() or {}
    return {job: found[number].describe() for job, number in find_jobs(ledger, found).items()}


def open_queue(directory: StudyDirectory, options: SlurmOptions) -> SlurmQueue:
    """The queue for a study that is held; refused if somebody else's jobs for it are in there."""
    import_submitit()
    if shutil.which("sbatch") is None:
        remedy = (
            "there is no Slurm here (no `sbatch`); log in where there is, or use --engine local"
        )
        raise InvalidOptionError("--engine", "slurm", remedy)
    if "%" in str(directory.path):
        remedy = "Slurm would replace what follows a percent sign; choose another directory"
        raise InvalidOptionError("--out", str(directory.path), remedy)
    ledger = Ledger(directory.cluster_path)
    if ledger.exists and ledger.user != find_user():
        num_jobs = len(SlurmQueue(directory.path, ledger).look() or {})
        if num_jobs:
            problem = f"{num_jobs} jobs of {ledger.user} for this study are in the queue"
            raise StoreError(directory.path, problem, "ask them, or choose another directory")
    ledger.begin()
    queue = SlurmQueue(directory.path, ledger, options)
    # Later its silence is waited out; who has just come would wait for ever where there is none.
    if queue.look() is None:
        raise QueueError("Slurm does not answer `squeue`; try again later, or use --engine local.")
    return queue
