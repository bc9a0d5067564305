"""A study on a Dask cluster, as on any executor; this one has one process of this machine."""

import contextlib
import tempfile
from pathlib import Path

from distributed import Client, LocalCluster

from remanence.study import Job, Study, load_results, run_study

CHANGES = {"num_envs": 4, "num_steps": 16, "policy_epochs": 1, "value_epochs": 1}
JOBS = [
    Job(
        id=f"mingru-{seed}",
        preset="tmaze-short",
        network="small",
        cell="mingru",
        seeds=[seed],
        num_iterations=2,
        lengths=[2, 100],
        changes=CHANGES,
        stages=["evaluate"],
    )
    for seed in (1, 2)
]


@contextlib.contextmanager
def open_dask():
    # On a cluster of your own: Client("scheduler:8786"), or one of dask-jobqueue.
    cluster = LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None)
    with cluster, Client(cluster) as client:
        yield client.get_executor()


def main():
    study = Study("tmaze", "tiny", "Two iterations show nothing.", JOBS)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "study"
        status = run_study(path, study, open_executor=open_dask)
        print(f"{len(status.list_jobs('done'))} of {len(status.jobs)} jobs done")
        print(load_results(path, "outcomes").select("cell, seed, length, outcome"))


if __name__ == "__main__":
    main()
