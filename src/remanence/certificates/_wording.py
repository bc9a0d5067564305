"""A certificate in words, for someone who has not read the paper."""

import math
from collections.abc import Iterator

from remanence.certificates import _failures
from remanence.certificates._certificate import Certificate, Findings
from remanence.certificates._failures import FORGETS, NAMES, STEPS_BACK, WRONG_ARM, Failure
from remanence.dynamics import TOLERANCE


def headline(certificate: Certificate) -> str:
    """The verdict in one line.

    >>> from remanence import certificates, envs, networks
    >>> agent = networks.Agent.load("examples/agents/mingru/agents/seed-1.safetensors")
    >>> certificates.headline(certificates.certify(agent, envs.make("tmaze")))
    'DOES NOT LAST: it takes the right arm on lengths 1 to 13, and on no others.'
    """
    solved = certificate.compiled.solved
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
    """The rest of the story, sentence by sentence.

    >>> from remanence import certificates, envs, networks
    >>> agent = networks.Agent.load("examples/agents/mingru/agents/seed-1.safetensors")
    >>> next(certificates.explain(certificates.certify(agent, envs.make("tmaze"))))
    'It forgets: at length 14 it takes the arm up whatever the cue was.'
    """
    findings = certificate.compiled
    failure = findings.solved.failure
    if failure is not None:
        yield f"It {_third_person(failure.kind)}: {_locate(failure)}."
    yield from _explain_waste(findings)
    yield from _explain_memory(findings)
    yield _explain_programs(certificate)


def _locate(failure: Failure, waste: bool = False) -> str:
    """Where, after which cue if that matters, and what happens there."""
    cue = "" if failure.kind == FORGETS else f", after the cue '{NAMES[failure.cue]}',"
    return f"at length {failure.length:,}{cue} it {_describe_failure(failure, waste)}"


def _describe_failure(failure: Failure, waste: bool) -> str:
    arm = f"takes the arm {NAMES[-failure.cue]}"
    match failure.kind:
        case _failures.FORGETS:
            return f"{arm} whatever the cue was"
        case _failures.WRONG_ARM:
            return arm
        case _failures.STALLS:
            soon = "at once" if waste else "in time"
            return f"is at the junction, and does not take an arm {soon}"
    does = "steps back" if failure.kind == STEPS_BACK else "turns to the side"
    result = (
        "before it reaches the junction" if waste else "and does not reach the junction in time"
    )
    return f"{does} in the corridor, at step {failure.num_steps:,}, {result}"


def _third_person(kind: str) -> str:
    return "takes the wrong arm" if kind == WRONG_ARM else kind


def _explain_waste(findings: Findings) -> Iterator[str]:
    optimal, failure = findings.optimal, findings.optimal.failure
    if optimal.lengths is None:
        yield f"Whether it wastes steps is undecided: {optimal.reason}."
    elif failure is None:
        yield "It wastes no step at any length: straight to the junction, and at once into the arm."
    elif findings.solved.failure is None or failure.length < findings.solved.failure.length:
        located = _locate(failure, waste=True)
        yield f"It wastes no step on {optimal.lengths}. {located[0].upper()}{located[1:]}."


def _explain_memory(findings: Findings) -> Iterator[str]:
    for goal, closure in findings.closures.items():
        if closure is None:
            yield (
                f"After the cue '{NAMES[goal]}' its memory has not repeated itself within "
                f"{findings.budget:,} steps."
            )
            continue
        ends = "stands still" if closure.period == 1 else f"repeats every {closure.period:,} steps"
        yield f"After the cue '{NAMES[goal]}' its memory {ends} from step {closure.transient:,} on."
    if findings.distance is not None and not math.isfinite(findings.distance):
        yield "Its memory is not a finite number."
    elif findings.merge is not None:
        yield (
            f"From step {findings.merge:,} on the two memories are the same, bit for bit: "
            "nothing that follows can tell which cue was seen."
        )
    elif findings.distance is not None and findings.distance <= TOLERANCE:
        yield (
            f"The two memories end {findings.distance:.0e} apart, no more than rounding leaves "
            "between two ways to the same place."
        )
    elif findings.distance is not None:
        yield f"The two memories never meet; they end {findings.distance:.2g} apart."


def _explain_programs(certificate: Certificate) -> str:
    """Of which programs this is known."""
    return (
        "All this is what the compiled program does on this kind of machine. "
        f"{_explain_portable(certificate)} {_explain_contraction(certificate)}"
    )


def _explain_portable(certificate: Certificate) -> str:
    portable = certificate.portable
    if portable is None:
        return f"Nothing is known of the portable program: {certificate.unportable}."
    if portable.solved.lengths is None:
        return f"Of the portable program it is undecided: {portable.solved.reason}."
    same = portable.solved.lengths == certificate.compiled.solved.lengths
    found = "the same lengths" if same else f"{portable.solved.lengths}"
    return f"The portable program, whose bits are the same everywhere, is right on {found}."


def _explain_contraction(certificate: Certificate) -> str:
    contraction = certificate.contraction
    if contraction.optimal is None:
        return f"However numbers are rounded, it is not proved: {contraction.reason}."
    same = contraction.optimal == certificate.compiled.optimal.lengths
    found = "the same" if same else f"{contraction.optimal}"
    return f"However numbers are rounded, the lengths without waste are proved to be {found}."
