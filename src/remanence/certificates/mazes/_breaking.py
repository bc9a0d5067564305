"""A search for small disturbances of observations that make an agent prefer the wrong arm.

Agents are led through some sequences of mazes. Gradients through the recurrence and random signs
propose disturbances; the portable program, stepped plainly, says whether they do any harm. So what
is found is true of its bits, and the smallest of all is not claimed.
"""

import dataclasses
import functools
import itertools
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from remanence.certificates._attack import LARGEST, climb, disturb, narrow
from remanence.certificates.mazes._case import Case
from remanence.certificates.mazes._sequences import WRONG_ARM, Refutation, Visit
from remanence.certificates.mazes._walks import ANY, GREEDY
from remanence.certificates.mazes._world import ARM, DOWN, LEFT, RIGHT, UP, World
from remanence.networks import Network

NUM_STEPS = 48  # observations of one attack
NUM_CLIMBED, NUM_RANDOM = 24, 40  # attacks by gradients, and by random signs
NUM_CLIMBS = 12
WANDERING = 0.4  # of steps, where one may walk in any way


@dataclasses.dataclass(frozen=True)
class MazeBreak:
    """Mazes and observations after which the wrong arm is the better one, or is taken.

    `kind` and `visits` are those of a refutation. Each number of `observations` (steps,
    observation) is within `radius` of what there is to be seen; they are None where nothing has to
    be disturbed for it, and the radius is 0.

    >>> from remanence.certificates import mazes
    >>> visit = mazes.Visit(index=1, length=2, actions=(0, 3))
    >>> broken = mazes.MazeBreak(0.5, "wrong arm", (visit,), np.zeros((2, 4)))
    >>> found = broken.to_json()
    >>> found["mazes"], len(found["observations"])
    ([{'index': 1, 'length': 2, 'actions': [['right', 1], ['down', 1]]}], 2)
    """

    radius: float
    kind: str
    visits: tuple[Visit, ...]
    observations: np.ndarray | None

    def to_json(self) -> dict[str, Any]:
        """As the independent checker reads it."""
        seen = None if self.observations is None else self.observations.tolist()
        visits = [visit.to_json() for visit in self.visits]
        return {"radius": self.radius, "kind": self.kind, "mazes": visits, "observations": seen}


def break_undisturbed(refutation: Refutation) -> MazeBreak:
    """What fails without any disturbance."""
    return MazeBreak(0.0, refutation.kind, refutation.visits, None)


@dataclasses.dataclass(frozen=True)
class Scripts:
    """Ways through mazes, (ways, steps) each: places, and the actions that are taken there."""

    places: np.ndarray
    actions: np.ndarray

    def read_visits(self, world: World, row: int, ending: Sequence[int]) -> tuple[Visit, ...]:
        """The mazes of a way whose last action is another."""
        places = [world.places[it] for it in self.places[row]]
        entered = [number for number in range(len(ending)) if places[number].entered]
        visits = []
        for first, last in itertools.pairwise([*entered, len(ending)]):
            actions = tuple(map(int, ending[first:last]))
            visits.append(Visit(places[first].entry, places[first].length, actions))
        return tuple(visits)


class Breaker:
    """Attacks a case: an agent's policy with one table and one way of walking."""

    def __init__(self, policy: Network, case: Case):
        self._policy, self._case = policy, case
        self._portable, self._world = case.memories.policy, case.world
        rng = np.random.default_rng(0)
        self._climbed = self._write_scripts(NUM_CLIMBED, rng)
        self._random = self._write_scripts(NUM_RANDOM, rng)
        self._signs = self._draw_signs(rng)
        self._targets = self._pick_targets(rng)

    def search(self, largest: float = LARGEST) -> MazeBreak | None:
        """The smallest disturbance that was found to do harm; None if none was, up to a size."""
        return narrow(self._attempt, largest)

    def _write_scripts(self, count: int, rng: np.random.Generator) -> Scripts:
        """Ways through random mazes, or through the same ones again and again."""
        world, places, actions = self._world, [], []
        for row in range(count):
            few = rng.choice(len(world.entrances), 1 + row % 3)
            mazes = few if row % 2 else np.arange(len(world.entrances))
            place, path, taken = int(world.openings[rng.choice(mazes)]), [], []
            while len(path) < NUM_STEPS:
                path.append(place)
                taken.append(self._choose(place, rng))
                place = int(world.following[place, taken[-1]])
                place = int(world.entrances[rng.choice(mazes)]) if place == ARM else place
            places.append(path)
            actions.append(taken)
        return Scripts(np.array(places), np.array(actions))

    def _choose(self, place: int, rng: np.random.Generator) -> int:
        if self._case.walk == ANY and rng.random() < WANDERING:
            return int(rng.choice([RIGHT, LEFT] if self._world.at_junction[place] else [UP, LEFT]))
        return int(self._case.right[place]) if self._world.at_junction[place] else RIGHT

    def _draw_signs(self, rng: np.random.Generator) -> np.ndarray:
        """Half of them the same whenever the same is seen, half of them each step anew."""
        letters = self._case.letters[self._random.places]
        size = self._observe(self._random).shape[-1]
        by_letter = rng.choice([-1.0, 1.0], (NUM_RANDOM, letters.max() + 1, size))
        signs = by_letter[np.arange(NUM_RANDOM)[:, None], letters]
        signs[::2] = rng.choice([-1.0, 1.0], signs[::2].shape)
        return signs

    def _pick_targets(self, rng: np.random.Generator) -> np.ndarray:
        """At which step of each way it is to go wrong: at some junction."""
        at_junction = self._world.at_junction[self._climbed.places]
        # Early ones as often as late ones, in powers of two.
        wanted = 2 ** rng.uniform(0, np.log2(NUM_STEPS), NUM_CLIMBED)
        distance = np.abs(np.arange(NUM_STEPS) - wanted[:, None]) + 1e9 * ~at_junction
        return distance.argmin(1)

    def _observe(self, scripts: Scripts) -> np.ndarray:
        return self._world.observe(self._case.table)[scripts.places]

    def _attempt(self, radius: float) -> MazeBreak | None:
        """Some disturbances of that size; one that does harm, if any."""
        found = self._replay(self._random, self._signs, radius)
        if found is not None or radius == 0:
            return found
        right = self._case.right[self._climbed.places[np.arange(NUM_CLIMBED), self._targets]]
        climbed = _climb(
            self._policy,
            jnp.asarray(self._observe(self._climbed)),
            jnp.asarray(self._targets, jnp.int32),
            jnp.asarray(right, jnp.int32),
            jnp.float32(radius),
        )
        return self._replay(self._climbed, np.asarray(climbed, np.float64), radius)

    def _replay(self, scripts: Scripts, signs: np.ndarray, radius: float) -> MazeBreak | None:
        """Step through disturbed observations: the first harm that is done."""
        seen = disturb(self._observe(scripts), radius * signs, radius, self._portable.dtype)
        state = np.tile(self._portable.initial_state(), (len(seen), 1))
        going = np.ones(len(seen), bool)  # as the script says
        for step in range(NUM_STEPS):
            places = scripts.places[:, step]
            logits, state = self._portable.step(seen[:, step], state)
            right = self._case.right[places]
            fails = going & self._world.at_junction[places] & self._fail(logits, right)
            if fails.any():
                row = int(fails.argmax())
                ending = [*scripts.actions[row, :step], UP + DOWN - right[row]]
                visits = scripts.read_visits(self._world, row, ending)
                return MazeBreak(radius, WRONG_ARM, visits, seen[row, : step + 1])
            if self._case.walk == GREEDY:
                going &= logits.argmax(1) == scripts.actions[:, step]
        return None

    def _fail(self, logits: np.ndarray, right: np.ndarray) -> np.ndarray:
        wrong, rows = UP + DOWN - right, np.arange(len(right))
        if self._case.walk == GREEDY:
            return logits.argmax(1) == wrong
        return logits[rows, wrong] >= logits[rows, right]


@eqx.filter_jit
def _climb(
    policy: Network,
    true: Float[Array, "ways steps size"],
    targets: Int[Array, " ways"],
    right: Int[Array, " ways"],
    radius: Float[Array, ""],
) -> Float[Array, "ways steps size"]:
    """Of each way, a climb to where it goes wrong at its target."""

    def harm(seen: Array, target: Array, arm: Array, offset: Array) -> Array:
        def step(state: Array, observation: Array) -> tuple[Array, Array]:
            logits, state = policy.step(observation, state)
            return state, logits

        _, logits = jax.lax.scan(step, policy.initial_state(), seen + radius * offset)
        return logits[target, UP + DOWN - arm] - logits[target, arm]

    def climb_one(seen: Array, target: Array, arm: Array) -> Array:
        return climb(functools.partial(harm, seen, target, arm), seen.shape, NUM_CLIMBS)

    return jax.vmap(climb_one)(true, targets, right)
