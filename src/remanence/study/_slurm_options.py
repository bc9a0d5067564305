"""What is asked of Slurm for each job, as users write it."""

import dataclasses
import math
import re
from collections.abc import Sequence
from typing import Any

from remanence._numbers import check_whole
from remanence.errors import InvalidOptionError
from remanence.study._plan import Job

_TIME = re.compile(r"(?:(?P<days>\d+)-)?(?P<clock>\d+(?::\d+){0,2})")


@dataclasses.dataclass(frozen=True)
class SlurmOptions:
    """What is asked of Slurm for each job; what is empty, the cluster decides.

    `time` is as Slurm has it (4:00:00, 1-12, 90), `cpus` and `gpus` are those of one job, which
    asks for no more cores than it has seeds; `setup` is run in a shell before it, and `max_jobs`
    may run at a time.

    >>> from remanence import study
    >>> options = study.SlurmOptions(partition="short", time="1-02:00:00", mem="8G")
    >>> options.seconds / 3600
    26.0
    >>> job = study.Job("gru", "lookup-tree-maze", "small", "gru", [1, 2], 250, lengths=[2, 100])
    >>> options.cpus, options.count_cores([job])
    (4, 2)
    >>> options.to_parameters("name", num_cores=2)["time"]
    1560
    """

    partition: str = ""
    account: str = ""
    qos: str = ""
    time: str = "4:00:00"
    mem: str = "8G"
    cpus: int = 4
    gpus: int = 0
    setup: str = ""
    max_jobs: int = 100

    def __post_init__(self):
        for name in ("partition", "account", "qos", "time", "mem", "setup"):
            if not isinstance(getattr(self, name), str):
                raise InvalidOptionError(name, getattr(self, name), "give it in quotes")
        for name in ("partition", "account", "qos"):
            if re.search(r"\s", getattr(self, name)):
                raise InvalidOptionError(name, getattr(self, name), "write it without blanks")
        if not self.seconds:
            raise InvalidOptionError("time", self.time, "write 4:00:00, 1-12:00:00 or 90 (minutes)")
        if not re.fullmatch(r"(\d+[KMGT]?)?", self.mem):
            raise InvalidOptionError("mem", self.mem, "write 8G or 500M")
        check_whole("cpus", self.cpus, 1)
        check_whole("gpus", self.gpus, 0)
        check_whole("max_jobs", self.max_jobs, 1)

    @property
    def seconds(self) -> int:
        """The time that a job may take; 0 if it cannot be read."""
        found = _TIME.fullmatch(self.time)
        if not found:
            return 0
        days, parts = found["days"], [int(part) for part in found["clock"].split(":")]
        # After days come hours; otherwise a number alone means minutes, and two minutes too.
        if days or len(parts) == 3:
            hours, minutes, seconds = [*parts, 0, 0][:3]
        else:
            hours, (minutes, seconds) = 0, [*parts, 0][:2]
        return int(days or 0) * 86_400 + hours * 3600 + minutes * 60 + seconds

    def count_cores(self, jobs: Sequence[Job]) -> int:
        """How many each of these jobs asks for: more than seeds would have nothing to do."""
        return self.cpus if self.gpus else min(self.cpus, max(len(job.seeds) for job in jobs))

    def to_parameters(self, name: str, num_cores: int, share: float = 1.0) -> dict[str, Any]:
        """The same in the words of submitit, for jobs of this name that are a share of all."""
        given = {it: getattr(self, it) for it in ("partition", "account", "qos", "mem")}
        return {
            **{it: value for it, value in given.items() if value},
            "job_name": name,
            "time": math.ceil(self.seconds / 60),
            # Otherwise, where nodes are given whole, there would be as many as there are cores for.
            "ntasks_per_node": 1,
            "cpus_per_task": num_cores,
            **({"gpus_per_node": self.gpus} if self.gpus else {}),
            **({"setup": [self.setup]} if self.setup else {}),
            "array_parallelism": max(1, int(share * self.max_jobs)),
            # Long enough for the iteration under way, which may take minutes, and its checkpoint.
            "signal_delay_s": max(10, min(600, self.seconds // 8)),
            "stderr_to_stdout": True,
            # A step does not inherit it since Slurm 22.05.
            "srun_args": ["--ntasks=1", f"--cpus-per-task={num_cores}"],
            "additional_parameters": {"requeue": True},
        }
