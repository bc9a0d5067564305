"""What an archive of a run says of agents whose weights it left out."""

from collections.abc import Mapping
from pathlib import Path

from remanence.errors import StoreError
from remanence.store import read_json, write_json

_HASHES = "weights.json"


def write_hashes(run: Path, hashes: Mapping[int, str]) -> None:
    """Write down the hashes of policies that are left out, by seed.

    >>> from pathlib import Path
    >>> from remanence import training
    >>> training.write_hashes(Path("run"), {1: "4f2a"})
    >>> training.read_hashes(Path("run"))
    {1: '4f2a'}
    """
    write_json(run / _HASHES, {str(seed): it for seed, it in hashes.items()})


def read_hashes(run: Path) -> dict[int, str]:
    """The hashes of the policies that were left out of the archive of a run, by seed.

    >>> from pathlib import Path
    >>> from remanence import training
    >>> training.read_hashes(Path("examples/agents/mingru"))
    {}
    """
    path = run / _HASHES
    if not path.exists():
        return {}
    try:
        return {int(seed): str(it) for seed, it in read_json(path).items()}
    except (AttributeError, ValueError) as error:
        problem = f"these are not the hashes of weights ({error})"
        raise StoreError(path, problem, "restore it from a copy") from error
