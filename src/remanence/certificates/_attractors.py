"""The cycle that an orbit ends in, and sets around it that the idle map carries into each other.

All of it is guesswork in ordinary floats; a set counts if interval arithmetic accepts it.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Float

from remanence.certificates._enclosures import UNKNOWN, Region, judge_attractor, map_region
from remanence.certificates._interval_policy import Policy
from remanence.certificates._intervals import UndecidedError

Matrix = Float[np.ndarray, "size size"]

MAX_PERIOD = 64
MAX_PHASES = 512
MOST_SHRINKING = 12  # times by 4; smaller sets are lost in binary32's rounding


def run_floats(policy: Policy, cue: int, max_steps: int) -> np.ndarray:
    """The orbit of a cue in floats, a state in each column, until it stands still or for long."""
    prepared, initial = policy.open(cue)
    states = [policy.update(prepared, initial)]
    for _ in range(max_steps):
        states.append(policy.update(policy.corridor, states[-1]))
        if np.array_equal(states[-1], states[-2]):
            break
    return np.hstack(states)


def find_cycle(policy: Policy, orbit: np.ndarray) -> list[np.ndarray] | None:
    """The points of the cycle that an orbit's last column is near to, polished by Newton's method.

    None if it is near none.
    """
    states = orbit.T
    last = states[-1]
    if np.array_equal(last, states[-2]):
        return [last]
    gaps = np.abs(states[:-1][: -MAX_PERIOD - 1 : -1] - last).max(1)
    near = np.flatnonzero(gaps <= 1e-6 * (1 + np.abs(last).max()))
    if not len(near):
        return None
    period = int(near[0]) + 1
    points = _unroll(policy, last, period)
    for _ in range(10):
        change = _unroll(policy, points[-1], 2)[-1] - points[0]
        if np.abs(change).max() <= 1e-14 * (1 + np.abs(points[0]).max()):
            break
        moving = ~policy.discrete
        slope = chain([differentiate(policy, point) for point in points])
        step = np.linalg.solve(np.eye(len(slope)) - slope, change[moving])
        first = points[0].copy()
        first[moving] += step
        points = _unroll(policy, first, period)
    return points if np.isfinite(points).all() else None


def _unroll(policy: Policy, state: np.ndarray, num_states: int) -> list[np.ndarray]:
    states = [state[:, None]]
    while len(states) < num_states:
        states.append(policy.update(policy.corridor, states[-1]))
    return [column[:, 0] for column in states]


def differentiate(policy: Policy, point: np.ndarray) -> Matrix:
    """The Jacobian of the idle map in the continuous components of the state."""
    size = int(np.count_nonzero(~policy.discrete))
    region = Region(point, np.zeros(size), np.eye(size))
    slope = map_region(policy, region).slope
    assert slope is not None
    return slope.middle


def chain(slopes: Sequence[Matrix]) -> Matrix:
    """The Jacobian of steps in a row."""
    product = np.eye(len(slopes[0]))
    for slope in slopes:
        product = slope @ product
    return product


def find_sets(
    policy: Policy, cue: int, points: Sequence[np.ndarray], slopes: Sequence[Matrix]
) -> list[list[Region]]:
    """Sets around a cycle that are mapped one into the next; the best first, none if none are."""
    for bases in propose_bases(policy, slopes):
        turns = [slopes[number % len(slopes)] for number in range(len(bases))]
        radii = _balance_radii(bases, turns)
        if radii is None:
            continue
        proposals = [
            [
                Region(points[number % len(points)], scale * radius, basis)
                for number, (basis, radius) in enumerate(zip(bases, radii, strict=True))
            ]
            for scale in 0.25 ** np.arange(MOST_SHRINKING)
        ]
        accepted = [phases for phases in proposals if _accept(policy, cue, phases)]
        # The largest are bent most by the map, the smallest moved most by rounding: those between
        # suit an arithmetic that is coarser than this one, as the checker's is.
        if accepted:
            return accepted[len(accepted) // 2 :: -1]
    return []


def _accept(policy: Policy, cue: int, phases: Sequence[Region]) -> bool:
    try:
        conduct = judge_attractor(policy, cue, phases)
    except (UndecidedError, np.linalg.LinAlgError):
        return False
    return UNKNOWN not in (*conduct.walks, *conduct.turns)


def _balance_radii(
    bases: Sequence[Matrix | None], slopes: Sequence[Matrix]
) -> list[np.ndarray] | None:
    """Radii with r_(j+1) = |W_(j+1) J_j V_j| r_j + 1 around the cycle, the largest scaled to 1."""
    size = len(slopes[0])
    try:
        shares = list(_share_slopes(bases, slopes))
    except np.linalg.LinAlgError:
        return None
    slack = np.zeros(size)
    for share in shares:
        slack = share @ slack + 1
    radii = [np.linalg.solve(np.eye(size) - chain(shares), slack)]
    # With shares of 0 or more, a solution above 0 is there only if their product contracts.
    if not (radii[0] > 0).all():
        return None
    for share in shares[:-1]:
        radii.append(share @ radii[-1] + 1)
    largest = max(radius.max(initial=1.0) for radius in radii)
    return [radius / largest for radius in radii]


def _share_slopes(
    bases: Sequence[Matrix | None], slopes: Sequence[Matrix]
) -> Iterator[Float[np.ndarray, "size size"]]:
    """How much of each coordinate of a set goes into each coordinate of the next, at most."""
    for number, (basis, slope) in enumerate(zip(bases, slopes, strict=True)):
        target = bases[(number + 1) % len(bases)]
        turned = slope if basis is None else slope @ basis
        yield np.abs(turned if target is None else np.linalg.solve(target, turned))


def propose_bases(policy: Policy, slopes: Sequence[Matrix]) -> Iterator[Sequence[Matrix | None]]:
    """Bases for each point of a cycle, gone round once or more, in which it may contract."""
    if not policy.feedforward:
        rounds = 1
        while rounds * len(slopes) <= MAX_PHASES:
            bases = _follow_eigenvectors(slopes, rounds)
            if _balance_radii(bases, list(slopes) * rounds) is not None:
                yield bases
                break
            rounds *= 2
        if len(slopes) == 1:
            yield from ([_scale_schur(slopes[0], decay)] for decay in (1e-1, 1e-2, 1e-3))
    yield [None] * len(slopes)
    yield [np.eye(len(slopes[0]))] * len(slopes)


def _follow_eigenvectors(slopes: Sequence[Matrix], rounds: int) -> list[Matrix]:
    """Real bases of eigenvectors, those of complex pairs turned along with the map.

    A pair that turns in its plane fits a square only when it has contracted by the square root of
    2, which may take several rounds.
    """
    frames = [_find_eigenvectors([*slopes[n:], *slopes[:n]]) for n in range(len(slopes))]
    if len({frame.shape for frame in frames}) > 1:
        # Eigenvalues that are 0 up to rounding came out real at one point, as a pair at another.
        return [np.eye(len(slopes[0]))] * (rounds * len(slopes))
    vectors, bases = frames[0], []
    for number in range(rounds * len(slopes)):
        pairs = np.abs(np.imag(vectors)).max(0, initial=0) > 0
        bases.append(np.hstack([np.real(vectors), np.imag(vectors[:, pairs])]))
        moved = slopes[number % len(slopes)] @ vectors
        vectors = frames[(number + 1) % len(slopes)]
        overlap = (vectors.conj() * moved).sum(0)
        turns = pairs & (overlap != 0)
        vectors = vectors * np.where(turns, overlap / np.where(turns, np.abs(overlap), 1), 1)
    return bases


def _find_eigenvectors(slopes: Sequence[Matrix]) -> np.ndarray:
    """Eigenvectors of a round trip, largest eigenvalue first, one of each complex pair."""
    values, vectors = np.linalg.eig(chain(slopes))
    order = np.lexsort([-np.real(values), -np.abs(values).round(12)])
    return vectors[:, [n for n in order if np.imag(values[n]) >= 0]].astype(complex)


def _scale_schur(slope: Matrix, decay: float) -> Matrix:
    """A Schur basis scaled until what is above the diagonal counts little, for defective maps."""
    import scipy.linalg  # slow to import, and seldom needed

    form, basis = scipy.linalg.schur(slope, sort=None)[:2]
    joined = np.concatenate([[0], np.abs(np.diag(form, -1)) > 0])
    return basis * decay ** np.cumsum(1 - joined)  # pyrefly: ignore[bad-return]
