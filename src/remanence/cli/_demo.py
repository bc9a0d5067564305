"""`remanence demo`: both environments, played by an untrained agent of every cell."""

import dataclasses
import json
from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Table

from remanence import envs
from remanence.cells import registry as cell_registry
from remanence.cli._command import Command
from remanence.cli._episodes import OPTIMAL, Agent, Episode, make_agent, play_episode
from remanence.cli._play import show_state, summarize

MAX_ACTIONS_SHOWN = 32
SHOWN: dict[str, dict[str, Any]] = {
    "tmaze": {"length": 4},
    "lookup-tree-maze": {"num_mazes": 3, "length": 2},
}


@dataclasses.dataclass(frozen=True)
class Demo(Command):
    """Play both environments with an untrained agent of every cell, and with an optimal one."""

    seed: int = 0
    """Seed of the episodes and of the networks' weights."""
    json: bool = False
    """Print one JSON object for each episode instead of tables."""

    def run(self, console: Console) -> None:
        for name, options in SHOWN.items():
            environment, params = envs.make(name, **options)
            played = list(self._play_all(name, environment, params))
            if self.json:
                for agent, episode in played:
                    print(json.dumps({"environment": name, **summarize(agent, episode)}))
                continue
            first_state = played[0][1].states[0]
            show_state(console, environment, first_state)
            console.print(_tabulate(environment, played))
            console.print(
                f"optimal return {environment.optimal_return(params):g}, "
                f"with coin flips for decisions {environment.random_decision_return(params):g}\n",
                style="dim",
                highlight=False,
            )
        if not self.json:
            console.print("No agent has been trained: what they earn, they earn by chance.")

    def _play_all(
        self, name: str, environment: envs.AbstractEnvironment, params: Any
    ) -> Iterator[tuple[Agent, Episode]]:
        # Progress goes to the error stream, so that what is printed can be piped.
        console = Console(stderr=True)
        agents = [OPTIMAL, *cell_registry]
        for cell in track(agents, f"playing {name}", console=console, transient=True):
            agent = make_agent(cell, environment, self.seed)
            yield agent, play_episode(environment, params, agent, self.seed, max_steps=500)


def _tabulate(environment: envs.AbstractEnvironment, played: list[tuple[Agent, Episode]]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("agent")
    table.add_column("parameters", justify="right")
    table.add_column("does")
    table.add_column("steps", justify="right")
    table.add_column("return", justify="right")
    for agent, episode in played:
        table.add_row(
            agent.name,
            str(agent.num_parameters or "script"),
            _sketch_actions(environment, episode),
            str(len(episode.actions)),
            f"{episode.total_reward:.2f}",
        )
    return table


def _sketch_actions(environment: envs.AbstractEnvironment, episode: Episode) -> str:
    names = [environment.action_names[action] for action in episode.actions]
    arrows = {"right": "→", "up": "↑", "left": "←", "down": "↓"}
    sketch = "".join(arrows.get(name, f"{name} ") for name in names[:MAX_ACTIONS_SHOWN])
    return sketch + ("…" if len(names) > MAX_ACTIONS_SHOWN else "")
