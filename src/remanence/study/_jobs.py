"""One job from start to end: train, evaluate, measure stability, certify.

A stage whose file is there is not done again, so a job that was killed goes on where it was. Files
that are damaged, or not the job's, are put out of the way first, and so made anew.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from remanence.certificates import certify, read_certificate
from remanence.evaluation import evaluate, measure_stability
from remanence.store import hold_directory, set_aside, write_table
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
from remanence.study._records import (
    Columns,
    collect_rows,
    record_certificate,
    record_stability,
)
from remanence.study._status import STAGES, Report, read_job_status, report_life
from remanence.training import keep_compiled_programs, train


def run_job(path: str | Path, job: Job) -> str:
    """Do what is left of a job in the study at `path`, and return its state: done or failed.

    A function of its arguments and the files alone, so that any executor can run it anywhere. What
    goes wrong is in the job's status file. If another process is at this job, it is waited for.
    """
    keep_compiled_programs()
    directory = StudyDirectory(Path(path))
    status_path = directory.status_path(job)
    with hold_directory(directory.lock_path(job), wait=True):
        directory.remove_leftovers(job)
        with report_life(status_path, job) as report:
            for stage, work in _WORK.items():
                report.tell(stage=stage, agent=0)
                report.beat()
                work(directory, job, report)
            # A stage that was done before its process was killed has counted nothing now.
            report.tell(agent=len(job.seeds))
        return read_job_status(status_path).state


def _train(directory: StudyDirectory, job: Job, report: Report) -> None:
    _put_description_right(directory, job, report)
    _replace(directory, report, find_run_flaws(directory, job))
    if not _is_trained(directory, job):
        _replace(directory, report, find_checkpoint_flaws(directory, job))
        run = directory.open_run(job)
        train(
            job.make_environment(),
            job.make_architecture(),
            job.make_config(),
            job.seeds,
            out=run.path,
            resume=run.exists,
            on_iteration=lambda progress: report.tell(iteration=progress.iteration),
        )
    report.tell(iteration=job.num_iterations)
    # A training that is repeated gives the same agents to the bit, so what was found out about them
    # stays; whether it did, certificates show, which name the weights that they are of.
    _replace(directory, report, find_result_flaws(directory, job))


def _put_description_right(directory: StudyDirectory, job: Job, report: Report) -> None:
    """Restore a run's description from its checkpoint if it is lost, or else begin anew."""
    flaws = find_description_flaws(directory, job)
    if not flaws:
        return
    run = directory.open_run(job)
    known = run.recall_description()
    _replace(directory, report, flaws)
    if known and find_other_run(known["what"], job) is None:
        run.restore_description(known)
        return
    agents = [directory.agent_path(job, seed) for seed in job.seeds]
    for path in (run.checkpoint_path, directory.table_path("curves", job), *agents):
        set_aside(path)


def _replace(directory: StudyDirectory, report: Report, flaws: Sequence[Flaw]) -> None:
    """Put flawed files out of the way, and tell so."""
    for flaw in flaws:
        set_aside(flaw.path)
        name = flaw.path.relative_to(directory.path)
        report.add_replaced(f"{name}: {flaw.problem}; it is made anew.")


def _is_trained(directory: StudyDirectory, job: Job) -> bool:
    """Agents are the last that a training writes, and here none is stopped before its end.

    Curves that were lost come back with the checkpoint, which has them too.
    """
    agents = [directory.agent_path(job, seed) for seed in job.seeds]
    return all(file.exists() for file in (*agents, directory.table_path("curves", job)))


def _evaluate(directory: StudyDirectory, job: Job, report: Report) -> None:
    path = directory.table_path("evaluations", job)
    if path.exists():
        return
    run = directory.open_run(job)
    report.tell(agent=1)
    found = evaluate(
        run.load_agents(),
        run.load_environment(),
        job.lengths,
        on_progress=lambda done, total: report.tell(agent=min(done + 1, total)),
    )
    episodes = found.episodes
    write_table(path, _label(job, len(episodes["agent"])) | _rename_agents(episodes))


def _rename_agents(episodes: Columns) -> Columns:
    return {"seed" if name == "agent" else name: column for name, column in episodes.items()}


def _measure(directory: StudyDirectory, job: Job, report: Report) -> None:
    path = directory.table_path("stability", job)
    if path.exists():
        return
    run = directory.open_run(job)
    environment, _ = run.load_environment()
    rows = []
    for number, (seed, agent) in enumerate(run.load_agents().items(), start=1):
        report.tell(agent=number)
        rows.append(record_stability(seed, measure_stability(agent, environment)))
    write_table(path, _label(job, len(rows)) | collect_rows(rows))


def _certify(directory: StudyDirectory, job: Job, report: Report) -> None:
    path = directory.table_path("certificates", job)
    files = {seed: directory.certificate_path(job, seed) for seed in job.seeds}
    if path.exists() and all(file.exists() for file in files.values()):
        return
    run = directory.open_run(job)
    env = run.load_environment()
    rows = []
    for number, (seed, agent) in enumerate(run.load_agents().items(), start=1):
        report.tell(agent=number)
        if not files[seed].exists():
            certify(agent, env, budget=job.budget).save(files[seed])
        rows.append(record_certificate(seed, read_certificate(files[seed])))
    write_table(path, _label(job, len(rows)) | collect_rows(rows))


def _label(job: Job, num_rows: int) -> Columns:
    """The columns that every table begins with."""
    labels = {"preset": job.preset, "network": job.network, "cell": job.cell}
    return {name: np.full(num_rows, label) for name, label in labels.items()}


_WORK = dict(zip(STAGES, (_train, _evaluate, _measure, _certify), strict=True))
