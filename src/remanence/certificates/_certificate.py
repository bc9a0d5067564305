"""What a certificate consists of, and how it is written down."""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

from remanence.certificates._contraction import Contraction
from remanence.certificates._failures import Failure
from remanence.certificates._identity import AbstractDocument
from remanence.certificates._lengths import LengthSet
from remanence.certificates._orbit import Closure
from remanence.certificates._theory import Condition, Multistability

KIND, FORMAT = "remanence certificate", 2


@dataclasses.dataclass(frozen=True)
class Horizons:
    """The lengths on which something holds; None where that is undecided, and then why.

    >>> from remanence import certificates
    >>> certificates.Horizons(certificates.LengthSet(np.array([True, True, False]), 1)).verdict
    'some lengths'
    >>> certificates.Horizons(None, "its orbit did not close").verdict
    'undecided'
    """

    lengths: LengthSet | None
    reason: str | None = None
    failure: Failure | None = None

    @property
    def verdict(self) -> str:
        """ "every length", "some lengths", "no length" or "undecided"."""
        if self.lengths is None:
            return "undecided"
        if self.lengths.complete:
            return "every length"
        return "some lengths" if self.lengths.listed.any() else "no length"


@dataclasses.dataclass(frozen=True)
class Findings:
    """What is known of all lengths, for one program that acts in one T-maze.

    `optimal`: the right arm in the fewest steps. `solved`: the right arm within the time limit.
    `closures`: transient and period of each cue's orbit, None where it did not close within
    `budget` steps. `merge`: the step from which on the cues have left the same memory, the exact
    memory span; None if they never do, or not within the budget. `distance`: how far apart the
    states are that the cues end in.

    >>> from remanence import certificates, envs, networks
    >>> agent = networks.Agent.load("examples/agents/mingru/agents/seed-1.safetensors")
    >>> findings = certificates.find_portable(agent, envs.make("tmaze"))
    >>> findings.program["name"], findings.solved.verdict, findings.decided
    ('portable', 'some lengths', True)
    """

    program: Mapping[str, Any]
    budget: int
    optimal: Horizons
    solved: Horizons
    closures: Mapping[int, Closure | None]
    compatible: Condition
    separating: Condition
    multistability: Multistability
    merge: int | None
    distance: float | None

    @property
    def decided(self) -> bool:
        """Whether a larger budget would add nothing."""
        lengths = (self.optimal.lengths, self.solved.lengths)
        return None not in lengths and None not in self.closures.values()

    def to_json(self) -> dict[str, Any]:
        """As a certificate has it; a budget is told only where it did not suffice.

        >>> from remanence import certificates, envs, networks
        >>> agent = networks.Agent.load("examples/agents/mingru/agents/seed-1.safetensors")
        >>> found = certificates.find_portable(agent, envs.make("tmaze")).to_json()
        >>> found["solved"], found["failures"]["solved"]["kind"]
        ({'listed': 14, 'period': 1, 'runs': [[1, 13]]}, 'forgets')
        """
        horizons = {"optimal": self.optimal, "solved": self.solved}
        closures = [(cue, closure or (None, None)) for cue, closure in self.closures.items()]
        return _drop_infinities(
            {
                "program": dict(self.program),
                "budget": None if self.decided else self.budget,
                **{
                    name: None if found.lengths is None else found.lengths.to_json()
                    for name, found in horizons.items()
                },
                "failures": {
                    name: None if found.failure is None else dataclasses.asdict(found.failure)
                    for name, found in horizons.items()
                },
                "cues": [
                    {"cue": cue, "transient": transient, "period": period}
                    for cue, (transient, period) in closures
                ],
                "merge": self.merge,
                "distance": self.distance,
                "compatible": dataclasses.asdict(self.compatible),
                "separating": dataclasses.asdict(self.separating),
                "multistability": dataclasses.asdict(self.multistability),
            }
        )


@dataclasses.dataclass(frozen=True)
class Certificate(AbstractDocument):
    """What is known of all lengths, for one agent in one T-maze.

    `portable` is None where there is no portable program, and `unportable` then says why.

    >>> from remanence import certificates, envs, networks
    >>> agent = networks.Agent.load("examples/agents/mingru/agents/seed-1.safetensors")
    >>> certificate = certificates.certify(agent, envs.make("tmaze"))
    >>> certificate.compiled.solved.verdict, str(certificate.contraction.optimal)
    ('some lengths', 'lengths 1 to 13')
    >>> sorted(certificate.to_json())
    ['agent', 'compiled', 'contraction', 'environment', 'format', 'kind', 'portable']
    >>> certificate.save("certificate.json")
    """

    compiled: Findings
    portable: Findings | None
    contraction: Contraction
    unportable: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            **self.describe_subject(KIND, FORMAT),
            "compiled": self.compiled.to_json(),
            "portable": None if self.portable is None else self.portable.to_json(),
            "contraction": self.contraction.to_json(),
        }


def _drop_infinities(value: Any) -> Any:
    """The same with None for every number that JSON does not have."""
    if isinstance(value, Mapping):
        return {key: _drop_infinities(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_drop_infinities(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
