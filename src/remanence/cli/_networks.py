"""`remanence networks`: the paper's architectures, their parameters counted."""

import dataclasses
import json
from typing import Annotated

import equinox as eqx
import jax
import tyro
from rich.console import Console
from rich.table import Table

from remanence import envs
from remanence.cli._command import OPTIONAL, Command
from remanence.networks import (
    Architecture,
    ParameterCount,
    count_parameters,
    make_architecture,
    make_policy,
)

# The paper uses the wide network, once called lookup-tree, in the LookupTreeMaze.
ENVIRONMENT_OF: dict[str, str] = dict.fromkeys(("wide", "lookup-tree"), "lookup-tree-maze")


@dataclasses.dataclass(frozen=True)
class Networks(Command):
    """Describe a policy network and count its parameters, array by array.

    Example: remanence networks --network wide --cell hybrid
    """

    # An earlier version called it --architecture.
    network: Annotated[str, tyro.conf.arg(aliases=["--architecture"])] = "small"
    """small, wide or deep-mingru, which are the paper's, or the name of your own (--import)."""
    cell: Annotated[str | None, OPTIONAL] = None
    """The recurrent cell; the network's own if not given."""
    environment: Annotated[str | None, OPTIONAL] = None
    """The environment whose observations and actions it is for; if not given, the paper's."""
    json: bool = False
    """Print one JSON object instead of a table."""

    def run(self, console: Console) -> None:
        architecture = make_architecture(
            self.network, **({} if self.cell is None else {"cell": self.cell})
        )
        name = self.environment or ENVIRONMENT_OF.get(self.network, "tmaze")
        environment, _ = envs.make(name)
        policy = eqx.filter_eval_shape(  # as numbers are of no interest
            make_policy,
            architecture,
            environment.observation_size,
            environment.num_actions,
            key=jax.random.key(0),
        )
        counts = count_parameters(policy)
        total = sum(count.size for count in counts)
        if self.json:
            arrays = [count._asdict() for count in counts]
            fields = json.loads(architecture.to_json())
            print(json.dumps({"architecture": fields, "parameters": total, "arrays": arrays}))
            return
        console.print(_tabulate(counts, total))
        console.print(f"\n{self.network}: {_sketch(architecture, environment)}", style="dim")


def _tabulate(counts: list[ParameterCount], total: int) -> Table:
    table = Table(box=None, pad_edge=False, show_footer=True)
    table.add_column("array", "total")
    table.add_column("shape", justify="right")
    table.add_column("parameters", f"{total:,}", justify="right")
    for path, shape, size in counts:
        table.add_row(path, " x ".join(map(str, shape)), f"{size:,}")
    return table


def _sketch(architecture: Architecture, environment: envs.AbstractEnvironment) -> str:
    """The network as a chain of layers, in the paper's notation."""
    recurrent = f"{architecture.cell} {architecture.state_size}"
    if architecture.num_layers > 1:
        recurrent += f" x {architecture.num_layers}"
    layers = [str(environment.observation_size)]
    layers += [f"ReLU {size}" for size in architecture.encoder]
    layers += [recurrent] + (["sum, ReLU"] if architecture.skip else [])
    layers += [f"ReLU {size}" for size in architecture.head]
    return " -> ".join([*layers, str(environment.num_actions)])
