"""What a study would run and cost, for `remanence reproduce --dry-run`."""

import dataclasses
import json
from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table

from remanence.cli._command import open_table
from remanence.cli._study_progress import say_duration, say_size
from remanence.study import Estimate, Job, SlurmOptions, Study, estimate, join_study


def print_plan(
    console: Console, study: Study, num_workers: int, slurm: SlurmOptions | None, as_json: bool
) -> None:
    """Print the jobs with what each is expected to take, and the sum."""
    num_cores = slurm.count_cores(study.jobs) if slurm else None

    def foresee(jobs: Sequence[Job]) -> Estimate:
        return estimate(jobs, 1, num_cores) if slurm else estimate(jobs, num_workers)

    expected = {job.id: foresee([job]) for job in study.jobs}
    total = foresee(study.jobs)
    if as_json:
        costs = {id: dataclasses.asdict(cost) for id, cost in expected.items()}
        total_cost = dataclasses.asdict(total)
        print(json.dumps({**study.to_json(), "estimates": costs, "estimate": total_cost}))
        return
    where = f"about {say_duration(total.seconds)} on this machine with --workers {num_workers}"
    remarks = ""
    if slurm and num_cores:
        console.print(_tabulate_shards(study, expected, num_cores))
        hours = _say_hours(total.seconds * num_cores)
        where = f"about {hours} core hours on nodes as fast as this machine"
        remarks = _remark(slurm, num_cores, [cost.seconds for cost in expected.values()])
    else:
        console.print(_tabulate(study, expected))
    agents = sum(len(job.seeds) for job in study.jobs)
    console.print(
        f"\n{agents} agents in {len(study.jobs)} jobs: {where}, and "
        f"{say_size(total.disk_bytes)} of disk.\n{remarks}{study.note}".rstrip(),
        highlight=False,
        markup=False,
    )


def _tabulate(study: Study, expected: Mapping[str, Estimate]) -> Table:
    table = open_table("job", ">seeds", ">iterations", ">lengths", ">time", ">disk")
    for job in study.jobs:
        cost = expected[job.id]
        numbers = (len(job.seeds), job.num_iterations, len(job.lengths))
        sizes = (say_duration(cost.seconds), say_size(cost.disk_bytes))
        table.add_row(job.id, *map(str, numbers), *sizes)
    return table


def _tabulate_shards(study: Study, expected: Mapping[str, Estimate], num_cores: int) -> Table:
    """A row for each training: a cluster's jobs, which differ in their seeds, may be hundreds."""
    table = open_table("training", ">seeds", ">jobs", ">seeds each", ">time each", ">core hours")
    for whole in join_study(study).jobs:
        seeds = set(whole.seeds)
        jobs = [it for it in study.jobs if it.arm == whole.arm and seeds.issuperset(it.seeds)]
        seconds = [expected[job.id].seconds for job in jobs]
        numbers = (len(seeds), len(jobs), max(len(job.seeds) for job in jobs))
        costs = (say_duration(max(seconds)), _say_hours(sum(seconds) * num_cores))
        table.add_row(whole.id, *map(str, numbers), *costs)
    return table


def _remark(slurm: SlurmOptions, num_cores: int, seconds: Sequence[float]) -> str:
    """What follows from the time of a job, and from how many may run at a time."""
    at_a_time = min(slurm.max_jobs, len(seconds))
    whole = max(max(seconds), sum(seconds) / at_a_time)
    cores = "1 core" if num_cores == 1 else f"{num_cores} cores"
    mem = f", {slurm.mem} of memory" if slurm.mem else ""
    time = say_duration(float(slurm.seconds))
    told = (
        f"A job asks for {cores}{mem} and {time} of time. With {at_a_time} at a time all are done "
        f"about {say_duration(whole)} after they start.\n"
    )
    longer = sum(it > slurm.seconds for it in seconds)
    if longer:
        told += (
            f"{longer} jobs take longer than their time: they save themselves, queue again and go "
            "on from there, so nothing is lost.\n"
        )
    return told


def _say_hours(seconds: float) -> str:
    hours = seconds / 3600
    return f"{hours:,.0f}" if hours >= 10 else f"{hours:.2g}"
