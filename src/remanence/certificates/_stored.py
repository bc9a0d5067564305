"""Certificates read back from files, for tables and reports; `remanence.checker` verifies them."""

from pathlib import Path
from typing import Any

from remanence.certificates._certificate import FORMAT, KIND
from remanence.errors import StoreError
from remanence.store import read_json


def read_certificate(path: Path) -> dict[str, Any]:
    """A certificate as JSON has it in the present format; one of format 1 is translated.

    >>> from pathlib import Path
    >>> from remanence import certificates, envs, networks
    >>> agent = networks.Agent.load("examples/agents/mingru/agents/seed-1.safetensors")
    >>> certificates.certify(agent, envs.make("tmaze")).save("certificate.json")
    >>> certificates.read_certificate(Path("certificate.json"))["contraction"]["optimal"]
    {'listed': 14, 'period': 1, 'runs': [[1, 13]]}
    """
    found = read_json(path)
    kind = (found.get("kind"), found.get("format")) if isinstance(found, dict) else None
    if kind not in ((KIND, FORMAT), (KIND, 1)):
        raise StoreError(path, "this version cannot read this certificate", "make it again")
    try:
        return _translate(found) if kind == (KIND, 1) else found
    except (LookupError, TypeError, AttributeError) as error:
        raise StoreError(path, "parts of this certificate are missing", "make it again") from error


def _translate(found: dict[str, Any]) -> dict[str, Any]:
    """What the first format says of its one program, and of its proof."""
    contraction, environment = found["contraction"], found["environment"]
    proved = contraction["verdict"] == "proved"
    return {
        **found,
        "environment": {
            "name": environment["name"],
            "previous_action": environment["previous_action"],
            "time_limit_factor": environment["params"]["limit_factor"] or None,
        },
        "compiled": found["bitwise"],
        "portable": None,
        "contraction": {"optimal": contraction["optimal"]} if proved else None,
    }
