"""Try to refute what certificates say of every sequence of mazes, by a great many decisions.

    python benchmarks/refute_mazes.py RUN --decisions 1000000

For each table and way of walking that RUN/maze-certificates calls certified, agents are led through
mazes in random order, in orders that repeat, and in those that an adversary picks: of all mazes
that may come next, each episode gets the one with the narrowest decision. A wrong decision is
replayed by the portable program, of which certificates speak.
"""

import argparse
import dataclasses
import functools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

RIGHT, UP, LEFT, DOWN = range(4)
ORDERS = ("random", "repeated", "adversarial")
PATIENCE = 400  # steps in a maze, after which a walk is led on straight ahead

Step = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


@dataclasses.dataclass
class Episodes:
    """Many episodes side by side, all with one table; `step` maps observations and states."""

    step: Step
    table: np.ndarray
    lengths: np.ndarray
    one_hot: bool
    states: np.ndarray
    first: bool = True

    def observe(self, index: np.ndarray, entered: np.ndarray, flag: np.ndarray) -> np.ndarray:
        """What is seen, (episodes, observation)."""
        table = self.table * (self.first & entered)[:, None]
        if self.one_hot:
            shown = (np.arange(len(self.table)) == index[:, None]) * entered[:, None]
        else:
            shown = (index * entered)[:, None]
        return np.hstack([table, shown, flag[:, None]]).astype(self.states.dtype)

    def pass_maze(
        self, index: np.ndarray, length: np.ndarray, walk: str, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Walk through a maze each; by how much the right arm was better, and the states after."""
        position, states = np.zeros(len(index), int), self.states.copy()
        inside, margins = np.ones(len(index), bool), np.full(len(index), np.nan)
        right = np.where(self.table[index] > 0, DOWN, UP)
        rows = np.arange(len(index))
        for number in range(PATIENCE + int(self.lengths.max())):
            flag = position == length - 1
            seen = self.observe(index, np.full(len(index), number == 0), flag)
            logits, after = self.step(seen, states)
            states = np.where(inside[:, None], after, states)
            margin = logits[rows, right] - logits[rows, UP + DOWN - right]
            action = self.choose(walk, logits, flag, number, rng)
            turning = inside & flag & np.isin(action, (UP, DOWN))
            lingers = inside & flag & (walk == "any")
            margins = np.where(lingers, np.fmin(margins, margin), margins)
            if walk == "greedy":
                margin = np.where(action == right, np.abs(margin), -np.abs(margin))
            margins = np.where(turning, np.fmin(margins, margin), margins)
            inside &= ~turning
            if not inside.any():
                break
            position = np.clip(position + (action == RIGHT) - (action == LEFT), 0, length - 1)
        # Who has not come out stalls, which is wrong as well.
        return np.where(inside, -np.inf, margins), states

    @staticmethod
    def choose(
        walk: str, logits: np.ndarray, flag: np.ndarray, number: int, rng: np.random.Generator
    ) -> np.ndarray:
        """The actions of all episodes."""
        if walk == "greedy":
            return logits.argmax(1)
        straight = np.where(flag, UP, RIGHT)
        if walk == "straight" or number >= PATIENCE // 2:
            return straight
        # Bursts of waiting of very different lengths, among steps forth and back.
        wanders = rng.random(len(flag)) < rng.choice([0.2, 0.9])
        return np.where(wanders, rng.integers(0, 4, len(flag)), straight)


def attack(
    episodes: Episodes, walk: str, order: str, num_decisions: int, rng: np.random.Generator
) -> Iterator[np.ndarray]:
    """Margins (episodes,) of one maze after another; below 0 is wrong."""
    count, size = len(episodes.states), len(episodes.table)
    mazes = [(index, length) for index in range(size) for length in episodes.lengths]
    pattern = rng.integers(0, len(mazes), (count, 4))
    for number in range(-(-num_decisions // count)):
        picked = rng.integers(0, len(mazes), count)
        if order == "repeated":
            picked = pattern[:, number // 50 % 4] if number % 2 else pattern[:, 0]
        if order == "adversarial":
            tried = [
                episodes.pass_maze(*_spread(mazes, np.full(count, it)), "straight", rng)[0]
                for it in range(len(mazes))
            ]
            worst = np.argmin(tried, axis=0)
            picked = np.where(rng.random(count) < 0.8, worst, picked)
        margins, states = episodes.pass_maze(*_spread(mazes, picked), walk, rng)
        yield margins
        episodes.states, episodes.first = states, False


def _spread(mazes: list[tuple[int, int]], picked: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    index, length = np.array(mazes)[picked].T
    return index, length


def refute(
    step: Step, start: np.ndarray, certificate: dict[str, Any], num_decisions: int, count: int
) -> Iterator[dict[str, Any]]:
    """A record for each certified table and way of walking, and order of mazes."""
    maze = certificate["environment"]
    for finding in certificate["findings"]:
        if finding["verdict"] != "certified":
            continue
        for seed, order in enumerate(ORDERS):
            episodes = Episodes(
                step,
                np.array(finding["table"]),
                np.array(maze["lengths"]),
                maze["index_encoding"] == "one-hot",
                np.tile(start, (count, 1)),
            )
            share = -(-num_decisions // len(ORDERS))
            rng = np.random.default_rng(seed)
            walked = attack(episodes, finding["walk"], order, share, rng)
            margins = np.concatenate(list(walked))
            yield {
                **{name: finding[name] for name in ("table", "walk", "method")},
                **{"order": order, "decisions": len(margins)},
                "wrong": int(np.count_nonzero(~(margins > 0))),
                "least_margin": float(margins.min()),
                "proved": finding["least_margin"],
            }


def _step(compiled: Any, seen: np.ndarray, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    logits, after = compiled(seen, states)
    return np.asarray(logits), np.asarray(after)


def main() -> None:
    """Attack all certificates of a run."""
    import jax

    from remanence.networks import Agent

    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("--decisions", type=int, default=1_000_000, help="for each table and walk")
    parser.add_argument("--episodes", type=int, default=1_000, help="side by side")
    options = parser.parse_args()
    for path in sorted((options.run / "maze-certificates").glob("seed-*.json")):
        agent = Agent.load(options.run / "agents" / path.with_suffix(".safetensors").name)
        step = functools.partial(_step, jax.jit(jax.vmap(agent.policy.step)))
        start = np.asarray(agent.policy.initial_state())
        certificate = json.loads(path.read_text())
        for record in refute(step, start, certificate, options.decisions, options.episodes):
            print(json.dumps({"seed": path.stem, **record}), flush=True)


if __name__ == "__main__":
    main()
