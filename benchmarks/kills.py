"""Whether work that is killed, runs out of disk or loses its clock ends as if nothing had happened.

Commands are interrupted at random moments, many of them those of a write, and run again until they
are done; what they leave must then be, to the bit, what they leave when nobody interrupts them.
After every strike all files must be whole. Needs Linux, and root for full disks.
"""

import dataclasses
import itertools
import random
import shutil
import signal
import sys
import tempfile
from pathlib import Path

import tyro
from _kills_bench import Bench, Work
from _kills_clock import find_library
from _kills_disk import can_mount
from _kills_tally import Tally
from _kills_works import strike_disk, strike_processes, strike_workers
from rich.console import Console

from remanence.errors import UnknownNameError
from remanence.store import find_commit

# How to strike, at which tasks, and how often next to the others.
KINDS = {
    "train": (strike_processes, ("train",), 5),
    "study": (strike_processes, ("study",), 2),
    "worker": (strike_workers, ("study",), 2),
    "evaluate": (strike_processes, ("evaluate",), 3),
    "certify": (strike_processes, ("certify",), 3),
    "disk": (strike_disk, ("train", "train", "study", "evaluate", "certify"), 3),
    "clock": (strike_processes, ("train", "train", "study"), 3),
}


@dataclasses.dataclass(frozen=True)
class Options:
    """Interrupt commands until enough has been struck at, and compare what comes of them."""

    kills: int = 500
    """How many strikes: kills, and disks that were full."""
    seed: int | None = None
    """Draws tasks and moments; a new one, which is printed, if not given."""
    kinds: tuple[str, ...] = tuple(KINDS)
    """What to strike at: train, study, worker, evaluate, certify, disk, clock."""
    work: int | None = None
    """Do this work alone, drawn as in a run with the same seed and kinds."""
    out: Path = Path("benchmarks/records/kills.json")
    """Where the record goes, every 20 strikes and at the end."""


def main(options: Options) -> None:
    """Make references, strike, tell and record; ends with 1 if anything was found."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    seed = random.randrange(10**6) if options.seed is None else options.seed
    scratch = Path(tempfile.mkdtemp(prefix="kills-"))
    notes, kinds = choose_kinds(options.kinds, scratch)
    options = dataclasses.replace(options, seed=seed, kinds=kinds)
    print(f"seed {seed}, in {scratch}", *notes, sep="\n", flush=True)
    tally = Tally(options, find_commit())
    tally.notes += notes
    bench = Bench(scratch)
    try:
        strike(options, bench, tally)
    finally:
        bench.close()
        tally.write()
        Console().print(tally.tabulate())
    if tally.findings:
        print(f"{len(tally.findings)} works with findings; see {options.out} and {scratch}.")
        sys.exit(1)
    shutil.rmtree(scratch)


def choose_kinds(kinds: tuple[str, ...], scratch: Path) -> tuple[list[str], tuple[str, ...]]:
    """What is missing here, and the kinds that go without it."""
    for kind in kinds:
        if kind not in KINDS:
            raise UnknownNameError("kind", kind, KINDS)
    notes = []
    if "clock" in kinds and find_library() is None:
        notes.append("no libfaketime: times of files are changed, clocks of processes are not")
    if "disk" in kinds and not can_mount(scratch):
        notes.append("mounting is not allowed here: no disk was full")
        kinds = tuple(kind for kind in kinds if kind != "disk")
    return notes, kinds


def strike(options: Options, bench: Bench, tally: Tally) -> None:
    """Do work after work until there were enough strikes."""
    for task in sorted({task for kind in options.kinds for task in KINDS[kind][1]}):
        make_reference(bench, task, tally)
    for number in itertools.count(1) if options.work is None else [options.work]:
        if options.work is None and tally.num_strikes >= options.kills:
            break
        work = draw_work(options, bench.scratch, number)
        KINDS[work.kind][0](bench, work)
        tally.add(work)
        if not work.findings:
            bench.remove(work)


def make_reference(bench: Bench, task: str, tally: Tally) -> None:
    """What a task gives when nobody interrupts it, which must be the same twice."""
    differences = bench.make_reference(task)
    course = bench.references[task].warm
    print(
        f"{task}: {course.seconds:.1f} s, computes after {course.ready_seconds:.1f} s, "
        f"{course.appearances} files and directories appear",
        flush=True,
    )
    if differences:
        tally.findings.append({"work": f"reference of {task}", "findings": differences})


def draw_work(options: Options, scratch: Path, number: int) -> Work:
    """The work of a number, whatever came before it."""
    moments = random.Random(f"{options.seed}-{number}")
    weights = [KINDS[kind][2] for kind in options.kinds]
    (kind,) = moments.choices(options.kinds, weights)
    task = moments.choice(KINDS[kind][1])
    return Work(number, kind, task, scratch / f"work-{number}", moments)


if __name__ == "__main__":
    main(tyro.cli(Options))
