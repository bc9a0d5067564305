"""A job's seeds in several jobs: the same agents to the bit, so the same study in other pieces."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from remanence.study._plan import Job, Study
from remanence.training import get_preset

SAMPLE = "sample"  # the stage that `sampled_lengths` are for


def split_job(job: Job, seeds_per_job: int) -> list[Job]:
    """The job as jobs of so many seeds, named after their first and last.

    >>> from remanence import study
    >>> job = study.Job("gru", "lookup-tree-maze", "small", "gru", [1, 2, 3], 250, lengths=[2, 100])
    >>> [(shard.id, shard.seeds) for shard in study.split_job(job, 2)]
    [('gru-s1-2', (1, 2)), ('gru-s3-3', (3,))]
    >>> study.split_job(job, 3) == [job]
    True
    """
    if seeds_per_job >= len(job.seeds):
        return [job]
    starts = range(0, len(job.seeds), seeds_per_job)
    batches = [job.seeds[start : start + seeds_per_job] for start in starts]
    base = _name_whole(job)
    return [
        dataclasses.replace(job, id=f"{base}{_name_seeds(seeds)}", seeds=seeds) for seeds in batches
    ]


def join_study(study: Study) -> Study:
    """The study with one job for each training, however its seeds are split.

    >>> from remanence import study
    >>> job = study.Job("gru", "lookup-tree-maze", "small", "gru", [1, 2, 3], 250, lengths=[2, 100])
    >>> plan = study.Study("recall", "tiny", "", study.split_job(job, 2))
    >>> study.join_study(plan).jobs == (job,)
    True
    """
    wholes: dict[str, Job] = {}
    seeds: dict[str, list[int]] = {}
    for job in study.jobs:
        id = _name_whole(job)
        if id in wholes and not _differ_by_seeds_alone(job, wholes[id]):
            id = job.id
        wholes.setdefault(id, job)
        seeds.setdefault(id, []).extend(job.seeds)
    jobs = [dataclasses.replace(it, id=id, seeds=seeds[id]) for id, it in wholes.items()]
    return dataclasses.replace(study, jobs=jobs)


def describe_whole(study: Study) -> dict[str, Any]:
    """What makes a study this one, as JSON: its note does not, nor how its seeds are split."""
    jobs = {job.id: job.to_json() for job in join_study(study).jobs}
    for fields in jobs.values():
        fields["seeds"].sort()
    return {**study.to_json(), "note": "", "jobs": jobs}


def forgo_choices(begun: Study, asked: Study) -> Study:
    """A later plan without what presets have come to choose since the study was begun.

    A plan names what its presets choose; one that does not goes on as it was.
    """
    named: dict[str, set[str]] = {}
    for job in begun.jobs:
        named.setdefault(job.preset, set()).update(dict(job.changes))

    def forgo(job: Job) -> Job:
        if job.preset not in named:
            return job
        chosen = get_preset(job.preset).choose(job.cell, {})
        changes = dict(job.changes)
        for name in chosen.keys() - named[job.preset]:
            if changes.get(name) == chosen[name]:
                del changes[name]
        return dataclasses.replace(job, changes=changes)

    return dataclasses.replace(asked, jobs=list(map(forgo, asked.jobs)))


def adopt_additions(begun: Study, asked: Study) -> Study:
    """The study as it was begun, with what a later plan of it asks besides.

    That is more questions to its agents, and more trainings, such as those of a further variant.
    Nothing that was found out is touched by either.
    """
    wanted = {_name_whole(job): job for job in asked.jobs}

    def adopt(job: Job) -> Job:
        more = wanted.get(_name_whole(job), job)
        if more.stages[: len(job.stages)] != job.stages:
            return job
        # If nobody has been asked at them, it is not too late for other lengths.
        lengths = (job if SAMPLE in job.stages else more).sampled_lengths
        return dataclasses.replace(job, stages=more.stages, sampled_lengths=lengths)

    known = {_name_whole(job) for job in begun.jobs}
    added = [job for job in asked.jobs if _name_whole(job) not in known]
    return dataclasses.replace(begun, jobs=[*map(adopt, begun.jobs), *added])


def _name_whole(job: Job) -> str:
    return job.id.removesuffix(_name_seeds(job.seeds))


def _name_seeds(seeds: Sequence[int]) -> str:
    return f"-s{seeds[0]}-{seeds[-1]}"


def _differ_by_seeds_alone(one: Job, other: Job) -> bool:
    return dataclasses.replace(one, id=other.id, seeds=other.seeds) == other
