"""What may be changed of a training by name: options of its environment, network, cell and PPO."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from remanence import cells, envs
from remanence.errors import InvalidOptionError, UnknownNameError
from remanence.networks import Architecture
from remanence.training._config import PPOConfig

ENVIRONMENT, NETWORK, CELL, PPO = "the environment", "the network", "the cell", "PPO"

Options = dict[str, Any]


def sort_changes(environment: str, cell: str, changes: Mapping[str, Any]) -> dict[str, Options]:
    """Changes by what they are options of; a name that nothing has, or two things have, is refused.

    A cell that takes options which its signature does not name gets them by `cell_options`.
    """
    owners = _list_owners(environment, cell)
    sorted_: dict[str, Options] = {owner: {} for owner in owners}
    for name, value in changes.items():
        sorted_[_find_owner(owners, cell, name, value)][name] = value
    return sorted_


def merge_cell_options(network: Architecture, of_network: Options, of_cell: Options) -> Options:
    """The network's options, in which those of its cell are `cell_options`."""
    if not of_cell:
        return of_network
    if "cell_options" in of_network:
        remedy = f"{', '.join(of_cell)} of the cell is given beside it; put all of them into one"
        raise InvalidOptionError("cell_options", of_network["cell_options"], remedy)
    return of_network | {"cell_options": {**dict(network.cell_options), **of_cell}}


def _list_owners(environment: str, cell: str) -> dict[str, list[str]]:
    static, traced = envs.list_options(environment)
    fields = [field.name for field in dataclasses.fields(Architecture)]
    return {
        ENVIRONMENT: [*static, *traced, "previous_action"],
        NETWORK: [name for name in fields if name != "cell"],
        # A study can be read by one who has not its cells.
        CELL: list(cells.list_options(cell)) if cell in cells.registry else [],
        PPO: [field.name for field in dataclasses.fields(PPOConfig)],
    }


def _find_owner(owners: Mapping[str, list[str]], cell: str, name: str, value: Any) -> str:
    found = [owner for owner, names in owners.items() if name in names]
    others = [it for it in cells.registry if name in cells.list_options(it)]
    if not found and others and cell in cells.registry:
        remedy = f"it is an option of {' and '.join(others)}, and the cell is {cell}"
        raise InvalidOptionError(name, value, remedy)
    if not found:
        known = [known for names in owners.values() for known in names]
        listing = "; ".join(
            f"of {owner}: {', '.join(sorted(names))}" for owner, names in owners.items() if names
        )
        raise UnknownNameError("option", name, known, listing)
    if len(found) > 1:
        within = "; the cell's can be given in cell_options" if CELL in found else ""
        remedy = f"it is an option of {' and of '.join(found)}, so rename one of them{within}"
        raise InvalidOptionError(name, value, remedy)
    return found[0]
