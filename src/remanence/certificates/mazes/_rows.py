"""Certificates for sequences of mazes read back from files, and as rows of a table."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from remanence.certificates.mazes._certify import FORMAT, KIND
from remanence.errors import StoreError
from remanence.store import read_json

FIRST_FORMAT = 1  # had no shares in the limit
# What the columns hold in which some values, or all, may be unknown.
ROW_KINDS: Mapping[str, type] = {
    **dict.fromkeys(("refuted_in", "broken_in", "num_memories", "history", "reach", "spent"), int),
    **dict.fromkeys(("method", "fails_by"), str),
    **dict.fromkeys(("least_probability", "sampled_share", "limit_share"), float),
    "earliest": bool,
}


def read_maze_certificate(path: Path) -> dict[str, Any]:
    """A certificate as JSON has it, of which `remanence.checker` says if it is true.

    >>> from pathlib import Path
    >>> from remanence.certificates import mazes
    >>> _ = Path("certificate.json").write_text('{"kind": "remanence maze certificate"}')
    >>> mazes.read_maze_certificate(Path("certificate.json"))
    Traceback (most recent call last):
    remanence.errors.StoreError: certificate.json: this version cannot read this ...
    """
    found = read_json(path)
    known = isinstance(found, dict) and found.get("kind") == KIND
    if not known or found.get("format") not in (FIRST_FORMAT, FORMAT):
        raise StoreError(path, "this version cannot read this certificate", "make it again")
    return found


def make_maze_rows(certificate: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Rows of a table, one for each table and way of walking, from a certificate as JSON.

    `refuted_in` is the maze in which the sequence ends that refutes, `spent` a budget in vain.

    >>> from remanence.certificates import mazes
    >>> found = mazes.TableFinding((1, -1), "any", "certified", "search", 12, least_margin=0.0)
    >>> (row,) = mazes.make_maze_rows({"findings": [found.to_json()]})
    >>> row["table"], row["verdict"], row["least_probability"], row["refuted_in"]
    ('+-', 'certified', 0.5, None)
    """
    for found in certificate["findings"]:
        refutation, margin = found["refutation"] or {}, found["least_margin"]
        yield {
            "table": show_table(found["table"]),
            **{name: found[name] for name in ("walk", "verdict", "method")},
            "refuted_in": len(refutation["mazes"]) if refutation else None,
            "fails_by": refutation.get("kind"),
            "earliest": refutation.get("earliest"),
            **{name: found[name] for name in ("num_memories", "history", "reach")},
            "least_probability": None if margin is None else float(0.5 + 0.5 * np.tanh(margin / 2)),
            "sampled_share": found["sampled_share"],
            "limit_share": found.get("limit_share"),
            "spent": found["budget"],
        }


def show_table(table: tuple[int, ...] | list[int]) -> str:
    """A table as signs.

    >>> from remanence.certificates import mazes
    >>> mazes.show_table([1, -1, -1])
    '+--'
    """
    return "".join("+" if entry > 0 else "-" for entry in table)
