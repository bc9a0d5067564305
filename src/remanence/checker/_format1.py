"""Certificates of the first format, as far as they can still be checked.

They speak of one compiled program that they do not name, so what they say of its bits cannot be
verified; their proofs by contraction can.
"""

import hashlib
import json
from typing import Any

from ._certificates import (
    EVIDENCE,
    FAILURES,
    KIND,
    MOST_BUDGET,
    agent,
    closure,
    cue,
    flag,
    holds,
    lengths,
    region,
    sha256,
    two_cues,
)
from ._fields import choice, demand, number, optional, record, several, text, whole

FORMAT = 1


_ENVIRONMENT = record(
    name=choice("tmaze"),
    options=record(),
    previous_action=flag,
    params=record(
        length_low=whole(1, 2**31), length_high=whole(1, 2**31), limit_factor=whole(0, 10**6)
    ),
    sha256=sha256,
    **{"class": text},
)


def _environment(value: Any, name: str) -> dict[str, Any]:
    found = _ENVIRONMENT(value, name)
    described = {field: part for field, part in found.items() if field != "sha256"}
    canonical = json.dumps(described, sort_keys=True, separators=(",", ":"))
    same = hashlib.sha256(canonical.encode()).hexdigest() == found["sha256"]
    demand(same, f"{name}.sha256 is not the hash of the environment that is described")
    return {
        "name": found["name"],
        "previous_action": found["previous_action"],
        "time_limit_factor": found["params"]["limit_factor"] or None,
    }


_FAILURE = record(length=whole(1, 10**7), goal=cue, kind=choice(*FAILURES), sentence=text)


def _failure(value: Any, name: str) -> dict[str, Any]:
    found = _FAILURE(value, name)
    return {"length": found["length"], "cue": found["goal"], "kind": found["kind"]}


_witness = record(
    goal=cue,
    num_steps=whole(0, MOST_BUDGET),
    state=several(optional(number), 1, 2**16),
    says=text,
)
_condition = record(name=text, holds=holds, witness=optional(_witness), remark=optional(text))
_bitwise = record(
    budget=whole(1, 10**12),
    optimal=optional(lengths),
    solved=optional(lengths),
    reasons=record(optimal=optional(text), solved=optional(text)),
    failures=record(optimal=optional(_failure), solved=optional(_failure)),
    cues=two_cues(closure),
    merge=optional(whole(0, MOST_BUDGET)),
    distance=optional(number),
    compatible=_condition,
    separating=_condition,
    multistability=several(_condition, 5, 5),
    backend=text,
)
_evidence = record(
    **{**EVIDENCE, "attractor": optional(several(region, 1, 4096))},
    margin=optional(number),
    contraction=optional(number),
)


def _cues(found: Any, place: str) -> list[Any]:
    return [] if found == [] else two_cues(_evidence)(found, place)


_CONTRACTION = record(
    verdict=choice("proved", "not proved"),
    reason=optional(text),
    optimal=optional(lengths),
    cues=_cues,
)


def _contraction(value: Any, name: str) -> dict[str, Any] | None:
    found = _CONTRACTION(value, name)
    proved = found["verdict"] == "proved"
    consistent = proved == (found["optimal"] is not None) == bool(found["cues"])
    demand(consistent, f"{name} is not proved and claims something, or is and claims nothing")
    if not proved:
        return None
    kept = [{field: it[field] for field in EVIDENCE} for it in found["cues"]]
    return {"optimal": found["optimal"], "cues": kept}


_certificate = record(
    kind=choice(KIND),
    format=choice(FORMAT),
    agent=agent,
    environment=_environment,
    bitwise=_bitwise,
    contraction=_contraction,
    versions=record(remanence=text, jax=text, jaxlib=text, numpy=text),
)


def read(found: Any) -> dict[str, Any]:
    """A certificate of the first format, in the fields of the present one."""
    read = _certificate(found, "certificate")
    kept = ("optimal", "solved", "failures", "cues", "merge", "distance", "backend")
    compiled = {"program": None, **{field: read["bitwise"][field] for field in kept}}
    fields = ("kind", "format", "agent", "environment", "contraction")
    return {**{name: read[name] for name in fields}, "compiled": compiled, "portable": None}
