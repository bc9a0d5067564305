"""What has been struck and found so far: on the screen, and in a record."""

import resource
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from _kills_bench import Work
from _record import write_record
from rich.table import Table

_STRIKES_BETWEEN_RECORDS = 20
_PACKAGES = ("remanence", "jax", "jaxlib", "numpy", "duckdb", "safetensors")

_ENDS: dict[str, Callable[[Work], int]] = {
    "works": lambda work: 1,
    "compared": lambda work: work.compared,
    "refusals": lambda work: len(work.refusals),
    "with findings": lambda work: bool(work.findings),
}


class Tally:
    """Counts works as they end; `options` and `commit` go to the record."""

    def __init__(self, options: Any, commit: str):
        self.notes: list[str] = []
        self.findings: list[dict[str, Any]] = []
        self._options = options
        self._commit = commit
        self._began = time.monotonic()
        self._works: list[Work] = []

    @property
    def num_strikes(self) -> int:
        """Kills and full disks."""
        return sum(len(work.strikes) for work in self._works)

    def add(self, work: Work) -> None:
        """Take note of a work that is over."""
        before = self.num_strikes // _STRIKES_BETWEEN_RECORDS
        self._works.append(work)
        if work.findings:
            self.findings.append(_describe(work))
        print(self._tell(work), flush=True)
        if self.num_strikes // _STRIKES_BETWEEN_RECORDS > before:
            self.write()

    def write(self) -> None:
        """Write the record as it is now."""
        seconds = time.monotonic() - self._began
        write_record(
            self._options,
            _PACKAGES,
            commit=self._commit,
            seconds=round(seconds),
            seconds_per_strike=round(seconds / max(1, self.num_strikes), 2),
            processor_seconds_per_strike=round(_count_seconds() / max(1, self.num_strikes), 2),
            strikes=self.num_strikes,
            strikes_by_kind_and_phase={kind: dict(found) for kind, found in self._count().items()},
            works=dict(Counter(work.kind for work in self._works)),
            compared=sum(work.compared for work in self._works),
            leftovers=sum(work.num_leftovers for work in self._works),
            lives_told_of_torn_programs=sum(work.num_torn for work in self._works),
            refusals=dict(Counter(text for work in self._works for text in work.refusals)),
            notes=self.notes,
            findings=self.findings,
        )

    def tabulate(self) -> Table:
        """Strikes by phase, and what came of them, with a column for each kind."""
        counts = self._count()
        table = Table("phase", box=None, pad_edge=False)
        for kind in counts:
            table.add_column(kind, justify="right")
        for phase in sorted({phase for found in counts.values() for phase in found}):
            table.add_row(phase, *(str(found[phase]) for found in counts.values()))
        for title, count in _ENDS.items():
            numbers = [sum(count(work) for work in self._works if work.kind == k) for k in counts]
            table.add_row(title, *map(str, numbers))
        return table

    def _count(self) -> dict[str, Counter[str]]:
        counts: dict[str, Counter[str]] = {kind: Counter() for kind in self._options.kinds}
        for work in self._works:
            counts[work.kind].update(strike["phase"] for strike in work.strikes)
        return counts

    def _tell(self, work: Work) -> str:
        phases = ", ".join(strike["phase"] for strike in work.strikes) or "nothing"
        verdict = "; ".join(work.findings)[:500] or "the same to the bit"
        seconds = time.monotonic() - self._began
        return (
            f"work {work.number}, {work.kind} of {work.task}: {phases} -> {verdict} "
            f"({self.num_strikes} strikes, {len(self.findings)} works with findings, "
            f"{seconds / max(1, self.num_strikes):.1f} s per strike)"
        )


def _count_seconds() -> float:
    """Processor time of all lives that are over."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _describe(work: Work) -> dict[str, Any]:
    """All that it takes to do a work again."""
    return {
        "work": work.number,
        "kind": work.kind,
        "task": work.task,
        "cold": work.cold,
        "findings": work.findings,
        "strikes": work.strikes,
        "lives": work.lives,
        "directory": str(work.directory),
    }
