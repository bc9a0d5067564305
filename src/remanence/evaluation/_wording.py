"""A certificate in words, for someone who has not read the paper."""

import math
from collections.abc import Iterator

from remanence.evaluation._certify import Certificate
from remanence.evaluation._failures import FORGETS, NAMES, WRONG_ARM, Failure
from remanence.evaluation._theory import TOLERANCE


def headline(certificate: Certificate) -> str:
    """The verdict in one line."""
    solved = certificate.solved
    if solved.lengths is None:
        return f"UNDECIDED: {solved.reason}."
    if solved.lengths.complete:
        return "LASTS FOR EVER: it takes the right arm in a corridor of any length."
    if not solved.lengths.listed.any():
        return "FAILS: there is no length at which it takes the right arm after both cues."
    if solved.lengths.bounded:
        return f"DOES NOT LAST: it takes the right arm on {solved.lengths}, and on no others."
    verdict = "LASTS FOR EVER" if solved.lengths.cofinite else "LASTS ON SOME LENGTHS ONLY"
    return f"{verdict}, but not everywhere: it takes the right arm on {solved.lengths}."


def explain(certificate: Certificate) -> Iterator[str]:
    """The rest of the story, sentence by sentence."""
    yield from _explain_failure(certificate)
    yield from _explain_waste(certificate)
    yield from _explain_memory(certificate)
    yield _explain_contraction(certificate)


def _explain_failure(certificate: Certificate) -> Iterator[str]:
    failure = certificate.solved.failure
    if failure is not None:
        yield f"It {_third_person(failure.kind)}: {_locate(failure)}."


def _locate(failure: Failure) -> str:
    """Where, after which cue if that matters, and what happens there."""
    cue = "" if failure.kind == FORGETS else f", after the cue '{NAMES[failure.goal]}',"
    return f"at length {failure.length:,}{cue} {failure.sentence}"


def _third_person(kind: str) -> str:
    return "takes the wrong arm" if kind == WRONG_ARM else kind


def _explain_waste(certificate: Certificate) -> Iterator[str]:
    optimal, failure = certificate.optimal, certificate.optimal.failure
    if optimal.lengths is None:
        yield f"Whether it wastes steps is undecided: {optimal.reason}."
    elif failure is None:
        yield "It wastes no step at any length: straight to the junction, and at once into the arm."
    elif certificate.solved.failure is None or failure.length < certificate.solved.failure.length:
        located = _locate(failure)
        yield f"It wastes no step on {optimal.lengths}. {located[0].upper()}{located[1:]}."


def _explain_memory(certificate: Certificate) -> Iterator[str]:
    for goal, closure in certificate.closures.items():
        if closure is None:
            yield (
                f"After the cue '{NAMES[goal]}' its memory has not repeated itself within "
                f"{certificate.budget:,} steps."
            )
            continue
        ends = "stands still" if closure.period == 1 else f"repeats every {closure.period:,} steps"
        yield f"After the cue '{NAMES[goal]}' its memory {ends} from step {closure.transient:,} on."
    if certificate.distance is not None and not math.isfinite(certificate.distance):
        yield "Its memory is not a finite number."
    elif certificate.merge is not None:
        yield (
            f"From step {certificate.merge:,} on the two memories are the same, bit for bit: "
            "nothing that follows can tell which cue was seen."
        )
    elif certificate.distance is not None and certificate.distance <= TOLERANCE:
        yield (
            f"The two memories end {certificate.distance:.0e} apart, no more than rounding leaves "
            "between two ways to the same place."
        )
    elif certificate.distance is not None:
        yield f"The two memories never meet; they end {certificate.distance:.2g} apart."


def _explain_contraction(certificate: Certificate) -> str:
    program = "All this holds for the compiled program on this kind of machine."
    contraction = certificate.contraction
    if contraction["verdict"] != "proved":
        return f"{program} Without rounding it is not proved: {contraction['reason']}."
    if not _same_lengths(certificate):
        return f"{program} Without rounding, other lengths are proved to be without waste."
    return f"{program} Without rounding, the lengths without waste are proved to be the same."


def _same_lengths(certificate: Certificate) -> bool:
    lengths = certificate.optimal.lengths
    return lengths is not None and lengths.to_json() == certificate.contraction["optimal"]
