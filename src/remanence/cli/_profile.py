"""Where the time of a training went, and how much memory it took."""

import resource
import sys
from collections.abc import Mapping

from rich.table import Table

from remanence.cli._command import open_table

_PHASES = {
    "compile": "compiling",
    "play": "acting, and judging what happened",
    "plan": "grouping steps by history",
    "policy": "updates of the policy",
    "value": "updates of the value network",
    "iterate": "all of it, as one program",
}


def show_profile(seconds: Mapping[str, float]) -> Table:
    """A row for each phase; seconds are added up over threads, so they may exceed the clock's."""
    table = open_table("phase", ">seconds", ">share")
    total = sum(seconds.values())
    for phase in sorted(seconds, key=lambda phase: -seconds[phase]):
        share = f"{seconds[phase] / total:.0%}"
        table.add_row(_PHASES.get(phase, phase), f"{seconds[phase]:.2f}", share)
    table.caption = f"peak of memory: {read_peak_memory() / 2**20:.0f} MiB"
    table.caption_justify = "left"
    return table


def read_peak_memory() -> int:
    """The most bytes that this process has held at once."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak
