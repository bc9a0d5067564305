"""Imported by the jobs of a test: writes down every iteration, and waits where a test says so.

A file `hold` in the study's directory makes trainings wait after iteration 7, which is two after a
checkpoint; what is there as `fail` names a job that fails. Nothing happens outside of Slurm's jobs.
"""

import os
import time
from pathlib import Path
from typing import Any

from remanence.study import _jobs

HELD = 7
_train = _jobs.train


def train(*arguments: Any, out: Path, on_iteration: Any, should_stop: Any, **options: Any) -> Any:
    study = out.parents[1]
    fails = study / "fail"
    if fails.exists() and fails.read_text() == out.name:
        raise RuntimeError("this node is no good")

    def pace(progress: Any) -> None:
        with (study / "iterations").open("a") as log:
            log.write(f"{out.name} {progress.iteration}\n")
        on_iteration(progress)
        while progress.iteration == HELD and (study / "hold").exists() and not should_stop():
            time.sleep(0.05)

    return _train(*arguments, out=out, on_iteration=pace, should_stop=should_stop, **options)


if "SLURM_JOB_ID" in os.environ:
    assert os.environ["SLURM_NTASKS"] == "1", "there is more than one process for a job"
    _jobs.train = train
