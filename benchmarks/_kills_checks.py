"""What is looked at after every strike, and at the end of a life and of a work."""

from _kills_bench import Bench, Work
from _kills_compare import Bits, find_damage, find_differences, find_status_crash
from _kills_lives import Life
from _kills_tasks import TASKS

_TORN = "Error reading persistent compilation cache entry"
_DEADLY = "3 times"
_MOST_TOLD = 2000


def note(work: Work, what: str, phase: str) -> None:
    """Put a strike on record."""
    work.strikes.append({"what": what, "phase": phase, "life": len(work.lives)})


def check(bench: Bench, work: Work, before: Bits) -> None:
    """What must hold at any time."""
    problems = find_damage(work.directory, before, bench.references[work.task].bits)
    if work.is_study:
        problems += find_status_crash(work.directory / "study")
    work.findings += [f"after strike {len(work.strikes)}: {problem}" for problem in problems]


def judge_end(bench: Bench, work: Work, life: Life) -> bool:
    """Wait for the end of a life that nobody kills; returns whether it did what it was to do."""
    code = life.await_end(bench.get_limit(work))
    life.close()
    output = life.read_output()
    told = f"life {len(work.lives)} ended with {code}: {output[-_MOST_TOLD:]}"
    if _TORN in output:
        work.num_torn += 1
    if "Traceback" in output:
        work.findings.append(told)
    elif code and _may_refuse(work, code, output):
        work.refusals.append(_shorten(output))
    elif code != 0:
        work.findings.append(told)
    return code == 0


def compare(bench: Bench, work: Work) -> None:
    """To the bit, with what comes of the task when nobody interrupts it."""
    reference = bench.references[work.task].bits
    tidy = TASKS[work.task].tidy
    work.findings += find_differences(work.directory, reference, parts=not tidy)
    work.compared = True
    work.num_leftovers = len(work.list_parts())


def _shorten(output: str) -> str:
    """What a command says at the end: its error, or else its last lines."""
    last = output[output.rindex("error: ") :] if "error: " in output else output.strip()
    return " | ".join(last.splitlines()[-2:])[:100]


def _may_refuse(work: Work, code: int, output: str) -> bool:
    """Whether a command had reason to give up, and says so."""
    if work.kind == "disk" and not work.room:
        return "error: " in output if code == 2 else code == 1 and " failed" in output
    return work.kind == "worker" and code == 1 and len(work.strikes) >= 3 and _DEADLY in output
