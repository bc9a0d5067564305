"""One job from start to end: train, then ask of its agents what the plan asks.

A stage whose files are there is not done again, so a job that was killed goes on where it was.
Files that are damaged, or not the job's, are put out of the way first, and so made anew.
"""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from remanence.store import hold_directory, set_aside, unpack
from remanence.study._directory import StudyDirectory
from remanence.study._inspection import (
    Flaw,
    find_checkpoint_flaws,
    find_description_flaws,
    find_other_run,
    find_result_flaws,
    find_run_flaws,
)
from remanence.study._plan import Job
from remanence.study._records import open_group
from remanence.study._reporter import TRAINING, JobReporter, JobStopped, report_life
from remanence.study._stages import Stage, stages
from remanence.study._status import read_job_status
from remanence.training import keep_compiled_programs, read_hashes, train


def run_job(path: str | Path, job: Job, stop: "Stop | None" = None) -> str:
    """Do what is left of a job in the study at `path`, and return its state: done or failed.

    A function of its arguments and the files alone, so that any executor can run it anywhere. What
    goes wrong is in the job's status file. If another process is at this job, it is waited for.
    One that `stop` has ended is waiting, and goes on from there when it is run again.

    >>> import shutil
    >>> from pathlib import Path
    >>> from remanence import study, training
    >>> run = training.RunDirectory(Path("examples/agents/mingru"))
    >>> task = run.read_description()["what"]["environment"]["name"]
    >>> _ = training.register_preset("recall", training.Preset(task, {"length": (1, 3)}))
    >>> asked = {"lengths": [2, 100], "stages": ["evaluate"]}
    >>> job = study.Job("mingru", "recall", "small", "mingru", [1], 250, **asked)
    >>> plan = study.Study("mine", "tiny", "", [job])
    >>> _ = study.StudyDirectory(Path("study")).begin(plan)
    >>> _ = shutil.copytree(run.path, "study/runs/mingru")  # trained already
    >>> study.run_job("study", job)
    'done'
    >>> training.presets.unregister("recall")
    """
    keep_compiled_programs()
    stop = stop or Stop()
    directory = StudyDirectory(Path(path))
    status_path = directory.status_path(job)
    with hold_directory(directory.lock_path(job), wait=True) as hold:
        directory.remove_leftovers(job)
        unpack(directory.open_run(job).path)
        with report_life(status_path, job, hold) as reporter:
            _begin(reporter, TRAINING)
            _train(directory, job, reporter, stop)
            for name in job.stages:
                _begin(reporter, stages[name].doing)
                with stop.at_once():
                    _ask(directory, job, stages[name], reporter)
            # A stage that was done before its process was killed has counted nothing now.
            reporter.change(agent=len(job.seeds))
        return read_job_status(status_path).state


class Stop:
    """A wish that a job end soon, which a signal may bring: `want` is fit to be its handler.

    A training ends after the iteration under way and is saved; a stage, which has nothing to save
    but files that are written whole, ends where it is.

    >>> from remanence import study
    >>> stop = study.Stop()
    >>> stop.want()
    >>> stop.wanted
    True
    >>> with stop.at_once():
    ...     print("not reached")
    Traceback (most recent call last):
    remanence.study._reporter.JobStopped
    """

    def __init__(self):
        self.wanted = False
        self._raises = False

    def want(self, *_: Any) -> None:
        """Ask for it."""
        self.wanted = True
        if self._raises:
            raise JobStopped

    @contextlib.contextmanager
    def at_once(self) -> Iterator[None]:
        """Within this block the job ends as soon as it is asked to."""
        self._raises = True
        try:
            if self.wanted:
                raise JobStopped
            yield
        finally:
            self._raises = False


def _begin(reporter: JobReporter, doing: str) -> None:
    reporter.change(stage=doing, agent=0)
    reporter.beat()


def _train(directory: StudyDirectory, job: Job, reporter: JobReporter, stop: Stop) -> None:
    _put_description_right(directory, job, reporter)
    _replace(directory, reporter, find_run_flaws(directory, job))
    if not _is_trained(directory, job):
        _replace(directory, reporter, find_checkpoint_flaws(directory, job))
        run = directory.open_run(job)
        made = train(
            job.make_environment(),
            job.make_architecture(),
            job.make_config(),
            job.seeds,
            out=run.path,
            resume=run.exists,
            labels={
                "preset": job.preset,
                "network": job.network,
                "changes": job.list_changes(),
            },
            command=directory.read_description().get("command"),
            on_iteration=lambda progress: _report_iteration(reporter, progress.iteration),
            should_stop=lambda: stop.wanted,
        )
        if not made.finished:
            raise JobStopped
    reporter.change(iteration=job.num_iterations)
    # A training that is repeated gives the same agents to the bit, so what was found out about them
    # stays; whether it did, tables and certificates show, which name the weights that they are of.
    _replace(directory, reporter, find_result_flaws(directory, job))


def _report_iteration(reporter: JobReporter, iteration: int) -> None:
    # Before a checkpoint is saved, which would be in the way of whoever has taken over.
    reporter.check()
    reporter.change(iteration=iteration)


def _put_description_right(directory: StudyDirectory, job: Job, reporter: JobReporter) -> None:
    """Restore a run's description from its checkpoint if it is lost, or else begin anew."""
    flaws = find_description_flaws(directory, job)
    if not flaws:
        return
    run = directory.open_run(job)
    known = run.recall_description()
    _replace(directory, reporter, flaws)
    if known and find_other_run(known["what"], job) is None:
        run.restore_description(known)
        return
    agents = [run.agent_path(seed) for seed in job.seeds]
    for path in (run.checkpoint_path, run.curves_path, *agents):
        set_aside(path)


def _replace(directory: StudyDirectory, reporter: JobReporter, flaws: Sequence[Flaw]) -> None:
    """Put flawed files out of the way, and tell so."""
    for flaw in flaws:
        set_aside(flaw.path)
        name = flaw.path.relative_to(directory.path)
        reporter.add_replaced(f"{name}: {flaw.problem}; it is made again.")


def _is_trained(directory: StudyDirectory, job: Job) -> bool:
    """Whether there are agents, and curves to the end of the training; a stopped one has some too.

    Curves that were lost come back with the checkpoint, which has them. Agents that an archive left
    out are not needed where all that is asked of them has been found out.
    """
    run = directory.open_run(job)
    agents = [run.agent_path(seed) for seed in job.seeds]
    if not all(file.exists() for file in (*agents, run.curves_path)):
        known = set(job.seeds) <= read_hashes(run.path).keys() and directory.has_results(job)
        return known and not find_result_flaws(directory, job)
    iterations = run.load_curves()["iteration"].tolist()
    return max(iterations, default=0) >= job.num_iterations


def _ask(directory: StudyDirectory, job: Job, stage: Stage, reporter: JobReporter) -> None:
    """Have a stage do its work, if that is not done yet."""
    records = directory.open_records(job)
    if records.has(*stage.tables) and not _lacks_certificates(directory, job, stage):
        return
    reporter.change(agent=1)

    def on_agent(done: int, total: int) -> None:
        reporter.check()
        number = len(job.seeds)
        reporter.change(agent=min(number, 1 + done * number // total))

    stage.run(open_group(directory.open_run(job), records), job, on_agent)


def _lacks_certificates(directory: StudyDirectory, job: Job, stage: Stage) -> bool:
    if "certificates" not in stage.tables:
        return False
    records = directory.open_records(job)
    return not all(records.certificate_path(seed).exists() for seed in job.seeds)
