"""`remanence play`: one episode and every step of it, or the same episode by every cell."""

import dataclasses
import json
from collections.abc import Iterator
from typing import Annotated, Any

import jax
import tyro
from rich.console import Console
from rich.progress import track
from rich.table import Table

from remanence import envs
from remanence._keys import derive_key
from remanence.cli._agents import Environment
from remanence.cli._command import OPTIONAL, Command, open_table
from remanence.cli._options import parse_options
from remanence.cli._players import (
    Player,
    find_trained,
    list_untrained,
    load_player,
    make_player,
)
from remanence.errors import InvalidOptionError
from remanence.evaluation import Recording, record_episode

ALL = "all"
SMALL = 3  # what grows is so large where nobody says, and an episode fits on a line
MAX_ACTIONS_SHOWN = 32
ARROWS = {"right": "→", "up": "↑", "left": "←", "down": "↓"}


@dataclasses.dataclass(frozen=True)
class Play(Command):
    """Play one episode and show every step: what the agent sees, does and gets.

    A trained agent plays greedily, and in its own environment if no other is named. The name of a
    cell is an untrained network, which samples its actions; `optimal` is a script that solves the
    environment; `all` is everybody who needs no training: that script and every cell.

    Example: remanence play --agent runs/gru --set length=20

    Example: remanence play lookup-tree-maze --agent optimal --set num_mazes=3 length=2
    """

    environment: Annotated[
        tyro.conf.Positional[str | None],
        tyro.conf.arg(metavar="ENVIRONMENT", help_behavior_hint=""),
    ] = None
    """tmaze, lookup-tree-maze or your own; if left out, the agent's, or all with --agent all."""
    agent: str = "gru"
    """A run's directory or an agent's file; an untrained cell, such as gru; `optimal`; or `all`."""
    agent_seed: Annotated[int | None, OPTIONAL] = None
    """Which agent of a run, by its seed; the first if not given."""
    set: Annotated[tuple[str, ...], tyro.conf.arg(metavar="NAME=VALUE", help_behavior_hint="")] = ()
    """The environment's options, such as length=10, num_mazes=1:20, time_limit_factor=none."""
    seed: int = 0
    """Seed of the episode, and of an untrained network's weights."""
    sampled: bool = False
    """Sample a trained agent's actions as in training, instead of taking the likeliest."""
    max_steps: int = 200
    """Stop after so many steps."""
    json: bool = False
    """Print one JSON object for each episode instead of tables."""

    def run(self, console: Console) -> None:
        if self.agent == ALL:
            self._play_all(console)
            return
        player, env = self._find_player()
        episode = self._record(player, env)
        if self.json:
            print(json.dumps(summarize(player, episode)))
            return
        show_state(console, env[0], episode.states[0])
        console.print(_list_steps(env[0], episode), "")
        show_state(console, env[0], episode.states[-1])
        console.print(describe_outcome(episode), highlight=False)

    def _find_player(self) -> tuple[Player, Environment]:
        path = find_trained(self.agent)
        if path is not None:
            player, env = load_player(path, self.agent_seed, self.sampled)
            if self.environment is None:
                return player, _change(env, parse_options(self.set))
            return player, envs.make(self.environment, **parse_options(self.set))
        self._refuse_options_of_trained_agents()
        if self.environment is None:
            remedy = f"name one of {', '.join(envs.registry)}, or give a trained agent as --agent"
            raise InvalidOptionError("environment", None, remedy)
        env = envs.make(self.environment, **parse_options(self.set))
        return make_player(self.agent, env[0], self.seed), env

    def _refuse_options_of_trained_agents(self) -> None:
        for option, default in (("agent_seed", None), ("sampled", False)):
            received = getattr(self, option)
            if received != default:
                remedy = "it is for trained agents; give a run or an agent's file as --agent"
                raise InvalidOptionError(option, received, remedy)

    def _record(self, player: Player, env: Environment) -> Recording:
        key = jax.random.key(self.seed)
        # Episodes of one seed start alike; what the players then try does not depend on each other.
        sampling_key = derive_key(key, f"agent {player.name}") if player.sampled else None
        return record_episode(
            env, player.agent, key, sampling_key=sampling_key, max_steps=self.max_steps
        )

    def _play_all(self, console: Console) -> None:
        self._refuse_options_of_trained_agents()
        for name in list(envs.registry) if self.environment is None else [self.environment]:
            env = envs.make(name, **parse_options(self.set))
            if self.environment is None and env[0].growth is not None:
                env = env[0], env[0].grow(env[1], SMALL)
            played = list(self._play_each(name, env))
            if self.json:
                for player, episode in played:
                    print(json.dumps({"environment": name, **summarize(player, episode)}))
                continue
            show_state(console, env[0], played[0][1].states[0])
            console.print(_list_players(env[0], played))
            levels = env[0].levels(env[1]).items()
            told = ", ".join(f"{level}: {value:g}" for level, value in levels)
            console.print(f"{told}\n", style="dim", highlight=False)
        if not self.json:
            console.print("None of these networks has been trained: what they earn is chance.")

    def _play_each(self, name: str, env: Environment) -> Iterator[tuple[Player, Recording]]:
        # Progress goes to the error stream, so that what is printed can be piped.
        console = Console(stderr=True)
        names = list_untrained(env[0])
        for who in track(names, f"playing {name}", console=console, transient=True):
            player = make_player(who, env[0], self.seed)
            yield player, self._record(player, env)


def _change(env: Environment, options: dict[str, Any]) -> Environment:
    """The environment with what grows set to a number; nothing else of it can be changed."""
    environment, params = env
    name = environment.growth.name if environment.growth else None
    for option, value in options.items():
        if option != name or not isinstance(value, int):
            possible = f"only {name} can be set, to a number" if name else "nothing can be set"
            remedy = f"in an agent's own environment {possible}; to set more, name the environment"
            raise InvalidOptionError(option, value, remedy)
        params = environment.grow(params, value)
    return environment, params


def show_state(console: Console, environment: envs.AbstractEnvironment, state: Any) -> None:
    """Draw one state as text, with an empty line after it."""
    console.print(envs.draw_text(environment.depict(state)) + "\n", highlight=False, markup=False)


def summarize(player: Player, episode: Recording) -> dict[str, Any]:
    """An episode as JSON has it."""
    fields: dict[str, Any] = dataclasses.asdict(dataclasses.replace(episode, states=[]))
    del fields["states"]
    return {
        "agent": player.name,
        "parameters": player.num_parameters,
        "return": episode.total_reward,
        **fields,
    }


def describe_outcome(episode: Recording) -> str:
    """How an episode ended, in a sentence."""
    ends = "terminated" if episode.terminated else "ran out of time"
    if not episode.terminated and not episode.truncated:
        ends = "was stopped"
    return (
        f"The episode {ends} after {len(episode.actions)} steps; return {episode.total_reward:g}."
    )


def _list_steps(environment: envs.AbstractEnvironment, episode: Recording) -> Table:
    table = open_table(">step", "sees", "does", ">gets")
    rows = zip(episode.observations, episode.actions, episode.rewards, strict=True)
    for time, (observation, action, reward) in enumerate(rows):
        seen = " ".join(f"{number:g}".rjust(2) for number in observation)
        table.add_row(
            str(time), seen, environment.action_names[action], f"{reward:g}" if reward else ""
        )
    return table


def _list_players(
    environment: envs.AbstractEnvironment, played: list[tuple[Player, Recording]]
) -> Table:
    table = open_table("agent", ">parameters", "does", ">steps", ">return")
    for player, episode in played:
        table.add_row(
            player.name,
            str(player.num_parameters or "script"),
            _sketch_actions(environment, episode),
            str(len(episode.actions)),
            f"{episode.total_reward:.2f}",
        )
    return table


def _sketch_actions(environment: envs.AbstractEnvironment, episode: Recording) -> str:
    names = [environment.action_names[action] for action in episode.actions]
    sketch = "".join(ARROWS.get(name, f"{name} ") for name in names[:MAX_ACTIONS_SHOWN])
    return sketch + ("…" if len(names) > MAX_ACTIONS_SHOWN else "")
