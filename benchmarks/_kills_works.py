"""How a work is interrupted, by kind, until it is done and compared."""

import shutil

from _kills_bench import Bench, Work
from _kills_checks import check, compare, judge_end, note
from _kills_clock import find_library, set_clock, shift_files
from _kills_compare import list_files, read_directory
from _kills_disk import PAGE, Disk, mount_disk
from _kills_lives import Aim, Life, draw_aim, kill_process
from _kills_tasks import TASKS

_FEWEST_KILLS, _MOST_KILLS = 2, 7
_MOST_WORKER_KILLS = 4
_MOST_FILLS = 4
_MOST_LIVES_TO_END = 3
_SHARE_COLD = 0.1
_SHARE_OF_PAGES = 0.75


def strike_processes(bench: Bench, work: Work) -> None:
    """SIGKILL of a command with all its processes, or of the command alone, again and again."""
    work.cold = work.kind == "train" and work.moments.random() < _SHARE_COLD
    bench.begin(work)
    before = read_directory(work.directory)
    orphans: list[Life] = []
    for _ in range(work.moments.randint(_FEWEST_KILLS, _MOST_KILLS)):
        life = _start(bench, work)
        if life.await_aim(_draw_aim(bench, work)):
            orphans += _kill(work, life)
            check(bench, work, before)
            work.done = False
            continue
        work.done = judge_end(bench, work, life)
        # What is done is not done again, except by commands that keep no state.
        if TASKS[work.task].tidy:
            break
    _finish(bench, work)
    for life in orphans:
        _await_workers(work, life)
        life.close()
    compare(bench, work)


def strike_workers(bench: Bench, work: Work) -> None:
    """SIGKILL of one worker of a study, while its runner lives."""
    bench.begin(work)
    before = read_directory(work.directory)
    life = _start(bench, work)
    for _ in range(work.moments.randint(1, _MOST_WORKER_KILLS)):
        if life.await_aim(_draw_aim(bench, work)):
            _kill_a_worker(work, life)
            check(bench, work, before)
    work.done = judge_end(bench, work, life)
    _finish(bench, work)
    compare(bench, work)


def strike_disk(bench: Bench, work: Work) -> None:
    """A disk that is full after a few pages or files more, then one with room."""
    with mount_disk(work.directory) as disk:
        bench.begin(work)
        before = read_directory(work.directory)
        for _ in range(work.moments.randint(1, _MOST_FILLS)):
            limit = _limit(bench, work, disk)
            life = _start(bench, work)
            work.done = judge_end(bench, work, life)
            if work.done:
                break
            note(work, "full disk", limit)
            check(bench, work, before)
        disk.free()
        work.room = True
        _finish(bench, work)
        compare(bench, work)
        if work.findings:  # what is on the disk goes with it
            shutil.copytree(work.directory, work.directory.with_name(f"work-{work.number}-disk"))


def _start(bench: Bench, work: Work) -> Life:
    if work.kind != "clock":
        return bench.start(work)
    shift_files(work.directory, work.moments)
    return bench.start(work, **set_clock(work.moments, find_library()))


def _draw_aim(bench: Bench, work: Work) -> Aim:
    """Earlier after other strikes, if a life goes on with what those before it have done."""
    share_left = 1 / (1 + len(work.strikes)) if TASKS[work.task].tidy else 1.0
    return draw_aim(work.moments, bench.get_course(work), share_left)


def _finish(bench: Bench, work: Work) -> None:
    """Let the work come to its end, which one life should be enough for."""
    for _ in range(_MOST_LIVES_TO_END):
        if not work.done:
            work.done = judge_end(bench, work, _start(bench, work))


def _kill(work: Work, life: Life) -> list[Life]:
    """Kill a life; returns it if its workers may still be there."""
    life.freeze()
    victim = work.moments.choice(("group", "group", "leader")) if work.is_study else "group"
    computing = life.is_computing()
    if victim == "group":
        life.kill_group()
        life.close()
        note(work, "SIGKILL of all processes", work.find_phase(computing))
        return []
    life.kill_leader()
    life.thaw()
    # Sometimes the next life comes while workers of this one are still there.
    if work.moments.random() < 0.5:
        _await_workers(work, life)
    note(work, "SIGKILL of the runner", work.find_phase(computing))
    return [life]


def _await_workers(work: Work, life: Life) -> None:
    if not life.await_processes():
        work.findings.append("a worker outlived its runner")


def _kill_a_worker(work: Work, life: Life) -> None:
    """Kill one of those there are, or the next that comes."""
    while life.alive:
        life.freeze()
        workers = life.list_workers()
        if workers:
            computing = life.is_computing()
            kill_process(work.moments.choice(workers))
            note(work, "SIGKILL of a worker", work.find_phase(computing))
        life.thaw()
        if workers:
            return
        life.wait(0.02)


def _limit(bench: Bench, work: Work, disk: Disk) -> str:
    """Leave less room than the rest of the work needs."""
    whole = bench.scratch / f"warm-{work.task}"
    sizes = [(whole / name).stat().st_size for name in list_files(whole)]
    used_bytes, used_files = disk.count_used()
    if work.moments.random() < _SHARE_OF_PAGES:
        missing = sum(1 + size // PAGE for size in sizes) - used_bytes // PAGE
        disk.limit(num_pages=work.moments.randint(0, max(0, missing - 1)))
        return "no more space"
    disk.limit(num_files=work.moments.randint(0, max(0, len(sizes) - used_files - 1)))
    return "no more files"
