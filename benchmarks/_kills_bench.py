"""Where commands are killed: a copy of the source, compiled programs, and what is right."""

import dataclasses
import random
import shutil
from pathlib import Path
from typing import Any

from _kills_compare import Bits, find_differences, is_part, list_files, read_directory
from _kills_lives import Course, Life
from _kills_tasks import TASKS

import remanence
from remanence.study import read_status

_FLAGS = {
    # Programs that compile in a third of the time, all of them kept.
    "XLA_FLAGS": "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false",
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    "COLUMNS": "200",  # so that no sentence is broken
}
_SECONDS_TO_HANG = 300.0


@dataclasses.dataclass(frozen=True)
class Reference:
    """What a task gives when nobody interrupts it, and its course with and without programs."""

    bits: Bits
    warm: Course
    cold: Course


@dataclasses.dataclass
class Work:
    """A task that is interrupted until it is done, and all that it takes to do it again."""

    number: int
    kind: str
    task: str
    directory: Path
    moments: random.Random
    cold: bool = False
    done: bool = False
    room: bool = False
    compared: bool = False
    num_torn: int = 0
    num_leftovers: int = 0
    strikes: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    lives: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    refusals: list[str] = dataclasses.field(default_factory=list)
    findings: list[str] = dataclasses.field(default_factory=list)
    parts_before: set[str] = dataclasses.field(default_factory=set)

    @property
    def is_study(self) -> bool:
        """Whether there are jobs and a status."""
        return self.task == "study"

    @property
    def log(self) -> Path:
        """Where its next life prints to."""
        return self.directory.with_name(f"{self.directory.name}-{len(self.lives) + 1}.log")

    def list_parts(self) -> set[str]:
        """The files whose writing was not finished."""
        return set(filter(is_part, list_files(self.directory)))

    def find_phase(self, computing: bool) -> str:
        """What a life was at that has just been killed, by what it left."""
        if self.list_parts() - self.parts_before:
            return "writing"
        if not computing:
            return "starting"
        if self.cold and not (self.directory / "run" / "checkpoint.safetensors").exists():
            return "compiling"
        return self._find_stage() if self.is_study else "computing"

    def _find_stage(self) -> str:
        jobs = read_status(self.directory / "study").jobs.values()
        return next((job.stage for job in jobs if job.stage), "between jobs")


class Bench:
    """A directory in which everything happens.

    Commands run from a copy of the source, so that changes to it in the meantime do not matter.
    """

    def __init__(self, scratch: Path):
        self.scratch = scratch
        self._source = scratch / "source"
        self._compiled = scratch / "compiled"
        self._compiled.mkdir()
        ignored = shutil.ignore_patterns("__pycache__")
        package = Path(remanence.__file__).parent
        shutil.copytree(package, self._source / "remanence", ignore=ignored)
        self.references: dict[str, Reference] = {}
        self._last: Life | None = None
        self._kept: set[str] = set()

    def make_reference(self, task: str) -> list[str]:
        """Do a task twice without interruption; returns how the second time differs."""
        _, cold = self._follow(task, f"cold-{task}")
        bits, warm = self._follow(task, f"warm-{task}")
        self.references[task] = Reference(bits, warm, cold)
        self._kept = {file.name for file in self._compiled.iterdir()}
        return find_differences(self.scratch / f"cold-{task}", bits, parts=False)

    def begin(self, work: Work) -> None:
        """Make the directory of a work, if it is not there, and what its task needs."""
        work.directory.mkdir(exist_ok=True)
        TASKS[work.task].prepare(work.directory)
        if work.moments.random() < 0.5:
            TASKS[work.task].age(work.directory)

    def start(self, work: Work, **environment: str) -> Life:
        """The next life of a work."""
        self._forget_torn_programs()
        command = TASKS[work.task].command(work.directory)
        compiled = self._compiled
        if work.cold:
            compiled = work.directory.with_name(f"{work.directory.name}-compiled")
            compiled.mkdir(exist_ok=True)
        variables = self._environment(compiled) | environment
        watched = [compiled] if work.cold else []
        work.parts_before = work.list_parts()
        life = self._last = Life(command, work.directory, variables, work.log, *watched)
        work.lives.append({"command": command, "environment": environment})
        return life

    def remove(self, work: Work) -> None:
        """Remove all that a work has left."""
        for path in self.scratch.glob(f"{work.directory.name}-*"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        shutil.rmtree(work.directory)

    def close(self) -> None:
        """End what an interruption of all this has left alive."""
        if self._last is not None:
            self._last.close()

    def get_course(self, work: Work) -> Course:
        """How a life of the work would go."""
        reference = self.references[work.task]
        return reference.cold if work.cold else reference.warm

    def get_limit(self, work: Work) -> float:
        """Seconds after which a life hangs."""
        return _SECONDS_TO_HANG + 20 * self.get_course(work).seconds

    def _follow(self, task: str, name: str) -> tuple[Bits, Course]:
        work = Work(0, "reference", task, self.scratch / name, random.Random(name))
        work.directory.mkdir()
        TASKS[task].prepare(work.directory)
        life = self._last = Life(
            TASKS[task].command(work.directory),
            work.directory,
            self._environment(self._compiled),
            work.log,
            *([self._compiled] if name.startswith("cold") else []),
        )
        try:
            course = life.follow()
            if life.code:
                raise RuntimeError(f"the reference of {task} failed:\n{life.read_output()}")
        finally:
            life.close()
        return read_directory(work.directory), course

    def _environment(self, compiled: Path) -> dict[str, str]:
        paths = {"PYTHONPATH": str(self._source), "JAX_COMPILATION_CACHE_DIR": str(compiled)}
        return _FLAGS | paths

    def _forget_torn_programs(self) -> None:
        """Programs that killed lives may have left a part of, in the cache that all lives share."""
        for file in self._compiled.iterdir():
            if file.name not in self._kept:
                file.unlink()
