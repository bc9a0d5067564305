"""Certificates, read with suspicion: the fields of the present format, and no others."""

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np

from . import _lengths
from ._fields import (
    Reader,
    choice,
    demand,
    misfit,
    number,
    optional,
    record,
    several,
    text,
    whole,
)

KIND, FORMAT = "remanence certificate", 2
LARGEST_SIZE, MOST_LAYERS = 4096, 16
MOST_STEPS, MOST_SETS, MOST_BUDGET, MOST_RUNS = 5_000, 512, 10_000_000, 200_000
MOST_PORTABLE = 100_000  # steps that are taken again, one by one
MOST_WORK = 10**9  # operations, about, that a proof may take
CELLS = ("gru", "lstm", "brc", "nbrc", "mingru", "bmru", "hybrid")
FAILURES = ("forgets", "wrong arm", "turns early", "steps back", "stalls at the junction")
ACTIONS = ("right", "up", "left", "down")

holds = choice(True, False, None)
flag = choice(True, False)
cue = choice(-1, 1)
length = whole(1, _lengths.MOST_LISTED)
numbers = several(number, 0, LARGEST_SIZE * MOST_LAYERS)
state = several(number, 1, LARGEST_SIZE * MOST_LAYERS)


def _is_shortest(found: dict[str, Any], name: str) -> None:
    """A set of lengths has one form alone."""
    demand(found["period"] <= found["listed"], f"{name} repeats more than it lists")
    ends = [0, *(end for run in found["runs"] for end in run)]
    ascending = all(
        low < high if place % 2 == 0 else low <= high
        for place, (low, high) in enumerate(itertools.pairwise(ends))
    )
    demand(ascending and ends[-1] <= found["listed"], f"{name} has runs that do not ascend")
    demand(_lengths.read(found).write() == found, f"{name} is not in its shortest form")


lengths = record(
    _is_shortest,
    listed=length,
    period=length,
    runs=several(several(length, 2, 2), 0, MOST_RUNS),
)


def _shows_what_breaks(found: dict[str, Any], name: str) -> None:
    shown = found["witness"] is not None
    demand(shown == (found["holds"] is False), f"{name} shows a state if and only if it breaks")


condition = record(
    _shows_what_breaks,
    holds=holds,
    witness=optional(
        record(
            cue=cue,
            num_steps=whole(0, MOST_BUDGET),
            state=state,
            actions=several(choice(*ACTIONS), 2, 2),
        )
    ),
)
failure = record(
    length=length,
    cue=cue,
    kind=choice(*FAILURES),
    num_steps=optional(whole(1, MOST_BUDGET)),
)


def _is_open_or_closed(found: dict[str, Any], name: str) -> None:
    is_open = found["transient"] is None
    demand(is_open == (found["period"] is None), f"{name} has one of transient and period alone")


# Where an orbit begins to repeat, or nothing.
closure = record(
    _is_open_or_closed,
    cue=cue,
    transient=optional(whole(0, MOST_BUDGET)),
    period=optional(whole(1, MOST_BUDGET)),
)


def two_cues(reader: Reader) -> Reader:
    """A list of two objects, for the cues -1 and 1."""

    def read(value: Any, name: str) -> list[Any]:
        found = several(reader, 2, 2)(value, name)
        cues = [part["cue"] for part in found]
        demand(cues == [-1, 1], f"{name} should speak of the cues -1 and 1, not {cues}")
        return found

    return read


COMPILED = record(
    name=choice("compiled"),
    **dict.fromkeys(("remanence", "jax", "jaxlib", "backend", "processor"), text),
)
PORTABLE = record(
    name=choice("portable"), version=choice(1), precision=choice("binary32", "binary64")
)
CLAIMS: dict[str, Reader] = {
    "budget": optional(whole(1, MOST_BUDGET)),
    "optimal": optional(lengths),
    "solved": optional(lengths),
    "failures": record(optimal=optional(failure), solved=optional(failure)),
    "cues": two_cues(closure),
    "merge": optional(whole(0, MOST_BUDGET)),
    "distance": optional(number),
    "compatible": condition,
    "separating": condition,
    "multistability": record(
        different_attractors=holds,
        in_basins=holds,
        constant_decisions=holds,
        different_decisions=holds,
    ),
}


def claims(program: Reader, most: int = MOST_BUDGET) -> Reader:
    """What is said of a program, of at most so many steps."""

    def check(found: dict[str, Any], name: str) -> None:
        unknown = [found["optimal"], found["solved"], *(c["period"] for c in found["cues"])]
        walked = [found["budget"] or 0, *(c["transient"] or 0 for c in found["cues"])]
        walked += [c["period"] or 0 for c in found["cues"]]
        demand(max(walked) <= most, f"{name} speaks of more than {most:,} steps")
        told = found["budget"] is not None
        demand(told == (None in unknown), f"{name} tells a budget if and only if something is open")

    return record(check, program=program, **CLAIMS)


_matrix = several(numbers, 0, LARGEST_SIZE * MOST_LAYERS)


def _basis(value: Any, name: str) -> Any:
    return value if value in (None, "identity") else _matrix(value, name)


# A set of states, as numbers; `shape_evidence` makes arrays of it.
region = record(centre=state, radius=numbers, basis=_basis)
EVIDENCE: dict[str, Reader] = {
    "cue": cue,
    "steps": whole(1, MOST_STEPS),  # step 0 sees the cue, which no attractor knows of
    "enclosure": choice("boxes", "parallelepipeds"),
    "attractor": optional(several(region, 1, MOST_SETS)),
}
contraction = record(optimal=lengths, cues=two_cues(record(**EVIDENCE)))


def shape_evidence(evidence: Mapping[str, Any], discrete: np.ndarray) -> dict[str, Any]:
    """Evidence with sets as the kernel reads them; components of a BMRU have no radius."""
    sets = evidence["attractor"] or []
    turning = evidence["enclosure"] == "parallelepipeds" or any(it["basis"] for it in sets)
    work = (evidence["steps"] + len(sets)) * len(discrete) ** (3 if turning else 2)
    demand(work <= MOST_WORK, "the evidence would take more to follow than is looked at")
    sets = [_shape_region(found, discrete) for found in evidence["attractor"] or []]
    return {**evidence, "attractor": sets}


def _shape_region(found: Mapping[str, Any], discrete: np.ndarray) -> dict[str, Any]:
    size, moving = len(discrete), np.flatnonzero(~discrete)
    demand(len(found["centre"]) == size, f"a centre should have {size} numbers")
    demand(len(found["radius"]) == len(moving), f"a radius should have {len(moving)} numbers")
    demand(min(found["radius"], default=0) >= 0, "a radius should not be below 0")
    centre, radius, basis = np.array(found["centre"]), np.zeros(size), None
    radius[moving] = found["radius"]
    if found["basis"] is not None:
        basis = np.eye(size)
        if found["basis"] != "identity":
            rows = {len(found["basis"]), *map(len, found["basis"])}
            demand(rows <= {len(moving)}, f"a basis should be {len(moving)} x {len(moving)}")
            basis[np.ix_(moving, moving)] = found["basis"]
    return {"centre": centre, "radius": radius, "basis": basis}


def _options(value: Any, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise misfit(name, "an object", value)
    return value


def _has_halves(found: dict[str, Any], name: str) -> None:
    halves = found["cell"] in ("hybrid", "lstm") and found["state_size"] % 2
    demand(not halves, f"{name}: the state of such a cell has an even size")


sizes = several(whole(1, LARGEST_SIZE), 0, MOST_LAYERS)
architecture = record(
    _has_halves,
    cell=choice(*CELLS),
    state_size=whole(1, LARGEST_SIZE),
    num_layers=whole(1, MOST_LAYERS),
    encoder=sizes,
    head=sizes,
    skip=flag,
    dropout=number,
    cell_options=_options,
)


def sha256(value: Any, name: str) -> str:
    """64 hexadecimal digits."""
    fits = isinstance(value, str) and len(value) == 64 and set(value) <= set("0123456789abcdef")
    if not fits:
        raise misfit(name, "64 hexadecimal digits", value)
    return value


agent = record(sha256=sha256, architecture=architecture)
environment = record(
    name=choice("tmaze"),
    previous_action=flag,
    time_limit_factor=optional(whole(1, 10**6)),
)


certificate = record(
    kind=choice(KIND),
    format=choice(FORMAT),
    agent=agent,
    environment=environment,
    compiled=optional(claims(COMPILED)),
    portable=optional(claims(PORTABLE, MOST_PORTABLE)),
    contraction=optional(contraction),
)


def read_certificate(found: Any) -> dict[str, Any]:
    """A certificate of the present format, whole."""
    demand(isinstance(found, dict), "a certificate is a JSON object")
    kind = (found.get("kind"), found.get("format"))
    demand(kind == (KIND, FORMAT), f"this is no certificate of format {FORMAT}")
    read = certificate(found, "certificate")
    parts = [read[name] for name in ("compiled", "portable", "contraction")]
    demand(any(part is not None for part in parts), "this certificate claims nothing")
    return read
