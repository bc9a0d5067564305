"""`remanence play`: one episode, every step of it."""

import dataclasses
import json
from typing import Annotated, Any

import tyro
from rich.console import Console
from rich.table import Table

from remanence import envs
from remanence.cli._episodes import Agent, Episode, make_agent, play_episode
from remanence.cli._options import parse_options


@dataclasses.dataclass(frozen=True)
class Play:
    """Play one episode and show every step: what the agent sees, does and gets.

    Example: remanence play lookup-tree-maze --agent optimal --set num_mazes=3 length=2
    """

    environment: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="ENVIRONMENT")]
    """tmaze or lookup-tree-maze, or the name of an environment of your own."""
    agent: str = "gru"
    """A cell of an untrained network (gru, lstm, brc, nbrc, mingru, bmru, hybrid), or `optimal`."""
    set: Annotated[tuple[str, ...], tyro.conf.arg(metavar="NAME=VALUE")] = ()
    """The environment's options, such as length=10, num_mazes=1:20, time_limit_factor=none."""
    seed: int = 0
    """Seed of the episode and of the network's weights."""
    max_steps: int = 200
    """Stop after that many steps, for environments without a time limit."""
    json: bool = False
    """Print one JSON object instead of a table."""

    def run(self, console: Console) -> None:
        environment, params = envs.make(self.environment, **parse_options(self.set))
        agent = make_agent(self.agent, environment, self.seed)
        episode = play_episode(environment, params, agent, self.seed, self.max_steps)
        if self.json:
            print(json.dumps(summarize(agent, episode)))
            return
        show_state(console, environment, episode.states[0])
        console.print(_tabulate(environment, episode), "")
        show_state(console, environment, episode.states[-1])
        console.print(describe_outcome(episode), highlight=False)


def show_state(console: Console, environment: envs.AbstractEnvironment, state: Any) -> None:
    """Draw one state as text, with an empty line after it."""
    console.print(envs.draw_text(environment.depict(state)) + "\n", highlight=False, markup=False)


def summarize(agent: Agent, episode: Episode) -> dict[str, Any]:
    """An episode as JSON has it."""
    fields = dataclasses.asdict(dataclasses.replace(episode, states=[]))
    del fields["states"]
    return {
        "agent": agent.name,
        "parameters": agent.num_parameters,
        "return": episode.total_reward,
        **fields,
    }


def describe_outcome(episode: Episode) -> str:
    """How an episode ended, in a sentence."""
    ends = "terminated" if episode.terminated else "ran out of time"
    if not episode.terminated and not episode.truncated:
        ends = "was stopped"
    return (
        f"The episode {ends} after {len(episode.actions)} steps; return {episode.total_reward:g}."
    )


def _tabulate(environment: envs.AbstractEnvironment, episode: Episode) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("step", justify="right")
    table.add_column("sees", justify="left")
    table.add_column("does")
    table.add_column("gets", justify="right")
    rows = zip(episode.observations, episode.actions, episode.rewards, strict=True)
    for time, (observation, action, reward) in enumerate(rows):
        seen = " ".join(f"{number:g}".rjust(2) for number in observation)
        table.add_row(
            str(time), seen, environment.action_names[action], f"{reward:g}" if reward else ""
        )
    return table
