"""How an agent may walk: as it likes best itself, straight ahead, or in any way there is."""

import numpy as np

from remanence.certificates.mazes._memories import Memories
from remanence.certificates.mazes._search import Choose
from remanence.certificates.mazes._world import DOWN, RIGHT, UP, World

GREEDY, STRAIGHT, ANY = "greedy", "straight", "any"
WALKS = (GREEDY, STRAIGHT, ANY)
NOTHING = -1


def choose_straight(world: World) -> Choose:
    """Right up to the junction, and there an arm at once."""

    def choose(places: np.ndarray, memories: np.ndarray) -> np.ndarray:
        del memories
        turning = world.at_junction[places]
        return np.stack([~turning, turning, np.zeros_like(turning), turning], axis=1)

    return choose


def choose_any(places: np.ndarray, memories: np.ndarray) -> np.ndarray:
    """Every action."""
    del memories
    return np.ones((len(places), 4), bool)


def choose_greedy(memories: Memories, letters: np.ndarray) -> Choose:
    """The action with the greatest logit; of several the first."""

    def choose(places: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        logits = memories.decode(letters[places], numbers)
        return np.arange(4) == logits.argmax(1)[:, None]

    return choose


def choose_patient(world: World) -> Choose:
    """Straight ahead, but before any step, and where the junction is at the entrance, a wait."""
    straight = choose_straight(world)
    waits = np.array([UP if place.length > 1 else RIGHT for place in world.places])
    waits = np.where(world.at_junction & (waits == UP), NOTHING, waits)

    def choose(places: np.ndarray, memories: np.ndarray) -> np.ndarray:
        return straight(places, memories) | (np.arange(4) == waits[places][:, None])

    return choose


def shorten(lengths: tuple[int, ...]) -> tuple[int, ...]:
    """The lengths that matter if an agent may walk in any way: 1, and the shortest of the others.

    In a longer maze one sees nothing that one cannot see in a shorter one by standing still, unless
    the shorter one has its junction at its entrance.
    """
    return tuple(length for length in lengths if length in (1, min(set(lengths) - {1}, default=1)))


def measure_margins(logits: np.ndarray, right: np.ndarray) -> np.ndarray:
    """By how much the logit of the right arm is above that of the other (nodes,)."""
    up_over_down = logits[:, UP] - logits[:, DOWN]
    return np.where(right == UP, up_over_down, -up_over_down)
