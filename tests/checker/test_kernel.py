"""The kernel's balls hold exact results, and their errors what programs in binary32 compute.

Exact is FLINT's arithmetic of 400 bits. The programs are NumPy's, XLA's (fused as it likes) and the
portable one, on numbers that are already wrong by what the given errors allow.
"""

from collections.abc import Callable, Iterator
from typing import Any

import flint
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from remanence.checker import _kernel as kernel
from remanence.checker._kernel import Ball, Policy, UndecidedError
from remanence.checker._weights import find_discrete
from remanence.portable import _arithmetic as portable
from tests.certificates import high_precision as precise
from tests.certificates import proofs
from tests.checker.programs import SHAPES, Subject, step_compiled

BITS = 400
COUNT = 24  # numbers in a ball


class Draw:
    """Balls, with numbers in them, and numbers of a program that are wrong by their errors."""

    def __init__(self, rng: np.random.Generator, scale: float, shape: tuple[int, ...] = (COUNT, 1)):
        signs = rng.choice([-1, 1, 1, -1, 0], shape)
        sizes = scale * 10.0 ** rng.uniform(-3, 0.3, shape)
        self.program = (signs * sizes).astype(np.float32)
        off, apart = (10.0 ** rng.uniform(-12, 0, shape) * rng.choice([0, 1], shape) for _ in "ab")
        # Subnormal numbers are never exact in a network; see `SMALLEST`.
        tiny = (self.program != 0) & (np.abs(self.program) < kernel.SMALLEST)
        off = np.where(tiny, 1.0, off)
        self.exact = self.program + rng.uniform(-1, 1, shape) * off * sizes
        centre = self.exact + rng.uniform(-1, 1, shape) * apart * sizes
        error = np.abs(self.program - self.exact) * (1 + 1e-15) + np.where(tiny, 1e-37, 0)
        radius = np.abs(self.exact - centre) * (1 + 1e-15)
        self.ball = Ball(centre, radius, error)


def balls(numbers: np.ndarray) -> list[Any]:
    return [precise.ball(number) for number in np.ravel(numbers).tolist()]


def sigmoid(x: Any) -> Any:
    return 1 / (1 + (-x).exp())


def blend(z: Any, held: Any, candidate: Any) -> Any:
    return z * held + (1 - z) * candidate


def logistic(x: np.ndarray) -> np.ndarray:
    return np.float32(1) / (np.float32(1) + np.exp(-np.clip(x, -80, 80)))


Operation = tuple[Callable[..., Any], ...]  # on balls, on FLINT's numbers, and by three programs
OPERATIONS: dict[str, Operation] = {
    "+": (*[lambda a, b: a + b] * 5,),
    "-": (*[lambda a, b: a - b] * 5,),
    "*": (*[lambda a, b: a * b] * 5,),
    "relu": (
        lambda a: a.relu(),
        lambda a: a if a > 0 else flint.arb(0),
        lambda a: np.maximum(a, 0),
        jax.nn.relu,
        portable.relu,
    ),
    "tanh": (lambda a: a.tanh(), lambda a: a.tanh(), np.tanh, jnp.tanh, portable.tanh),
    "sigmoid": (lambda a: a.sigmoid(), sigmoid, logistic, jax.nn.sigmoid, portable.sigmoid),
    "blend": (
        lambda a, b, c: a.sigmoid().blend(b, c),
        lambda a, b, c: blend(sigmoid(a), b, c),
        lambda a, b, c: blend(logistic(a), b, c),
        lambda a, b, c: blend(jax.nn.sigmoid(a), b, c),
        lambda a, b, c: portable.blend(portable.sigmoid(a), b, c),
    ),
    "sum of products": (
        lambda a, b, c: a * b + c * a - b,
        *[lambda a, b, c: a * b + c * a - b] * 4,
    ),
}
NUM_OPERANDS = {"relu": 1, "tanh": 1, "sigmoid": 1, "blend": 3, "sum of products": 3}
SCALES = [1e-42, 1e-37, 1e-20, 1e-3, 1.0, 30.0, 1e9, 1e14]


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", OPERATIONS)
def test_operation(name: str, scale: float):
    on_balls, exactly, *programs = OPERATIONS[name]
    in_numpy, in_jax, in_portable = programs
    rng, compiled = np.random.default_rng(0), jax.jit(in_jax)
    for _ in range(6):
        drawn = [Draw(rng, scale * 10.0 ** rng.uniform(-2, 0)) for _ in range(3)]
        drawn = drawn[: NUM_OPERANDS.get(name, 2)]
        result = on_balls(*(it.ball for it in drawn))
        with flint.ctx.workprec(BITS):
            operands = zip(*(balls(clip(name, it.exact)) for it in drawn), strict=True)
            exact = [exactly(*numbers) for numbers in operands]
        given = [it.program for it in drawn]
        found = [in_numpy(*given), compiled(*given), in_portable(*given)]
        assert_holds(result, exact, found)


def clip(name: str, numbers: np.ndarray) -> np.ndarray:
    # Beyond these FLINT would need thousands of bits, and both curves are flat.
    return np.clip(numbers, -900, 900) if name in ("tanh", "sigmoid") else numbers


def assert_holds(result: Ball, exact: list[Any], programs: list[Any]) -> None:
    """The exact results are in the balls, and what programs compute is as near as it should be."""
    centre, radius, error = (np.ravel(x) for x in (result.centre, result.radius, result.error))
    found = [np.ravel(np.asarray(program)) for program in programs]
    assert all(it.dtype == np.float32 and len(it) == len(exact) for it in found)
    with flint.ctx.workprec(BITS):
        for place, number in enumerate(exact):
            gap = abs(precise.ball(centre[place]) - number)
            assert not gap > precise.ball(radius[place])
            for program in found:
                gap = abs(precise.ball(program[place]) - number)
                assert not gap > precise.ball(error[place])


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("terms", [1, 2, 7, 64, 300])
def test_product_with_a_matrix(scale: float, terms: int):
    rng = np.random.default_rng(terms)
    compiled = jax.jit(lambda matrix, x: matrix @ x)
    for _ in range(3):
        matrix = rng.normal(size=(4, terms)).astype(np.float32)
        drawn = Draw(rng, scale, (terms, 1))
        result = matrix.astype(np.float64) @ drawn.ball
        with flint.ctx.workprec(BITS):
            exact = precise.apply(matrix, balls(drawn.exact))
        reversed_sum = sum_in_turn(matrix[:, ::-1], drawn.program[::-1])
        in_numpy = (matrix @ drawn.program, sum_in_turn(matrix, drawn.program), reversed_sum)
        found = [*in_numpy, compiled(matrix, drawn.program)]
        assert_holds(result, exact, [*found, portable.multiply(matrix, drawn.program[:, 0])])


def sum_in_turn(matrix: np.ndarray, x: np.ndarray) -> np.ndarray:
    total = np.zeros(len(matrix), np.float32)
    for column, number in zip(matrix.T, x, strict=True):
        total = total + column * number
    return total


@pytest.mark.parametrize("scale", SCALES)
def test_switch_is_that_of_every_program_or_is_not_decided(scale: float):
    rng, num_decided = np.random.default_rng(3), 0
    alpha = rng.normal(size=(1, 1)).astype(np.float32)
    for number in range(400):
        n, beta, held = (Draw(rng, scale, (1, 1)) for _ in range(3))
        if number % 2:  # on the threshold, or just beside it
            beta.program = beta.exact = np.nextafter(n.program, np.float32(number - 200))
            beta.ball = Ball(beta.program)
        try:
            result = n.ball.switch(beta.ball, alpha.astype(np.float64), held.ball)
        except UndecidedError:
            continue
        num_decided += 1
        exact, *found = (
            np.where(np.abs(a) > np.abs(b), np.where(a >= 0, alpha, -alpha), h)
            for a, b, h in [
                (n.exact, beta.exact, held.exact),
                (n.program, beta.program, held.program),
            ]
        )
        found.append(_switch_compiled(n.program, beta.program, alpha, held.program))
        found.append(_switch_flushed(n.program, beta.program, alpha, held.program))
        assert_holds(result, balls(exact), found)
    assert num_decided > (40 if scale > 1e-36 else 0)


@jax.jit
def _switch_compiled(n: jax.Array, beta: jax.Array, alpha: jax.Array, held: jax.Array) -> jax.Array:
    is_set = jnp.abs(n) - jnp.abs(beta) > 0
    return jnp.where(is_set, jnp.where(n >= 0, alpha, -alpha), held)


def _switch_flushed(n: np.ndarray, beta: np.ndarray, alpha: np.ndarray, held: np.ndarray) -> Any:
    """By a difference, where whatever is subnormal is 0."""
    n, beta = flush(n), flush(beta)
    is_set = flush(np.abs(n) - np.abs(beta)) > 0
    return np.where(is_set, np.where(n >= 0, alpha, -alpha), held)


def flush(x: np.ndarray) -> np.ndarray:
    return np.where(np.abs(x) < kernel.SMALLEST, np.float32(0), x)


@pytest.mark.parametrize("name", ["tanh", "sigmoid"])
def test_slopes_over_a_wide_ball(name: str):
    """The steepest place may be inside, and the ends may lie on different sides of it."""
    slopes = {"tanh": lambda x: 1 - np.tanh(x) ** 2, "sigmoid": lambda x: slope_of_logistic(x)}
    for low, high in [(-0.5, 1), (-3, 0.1), (-2, 2), (0.5, 4), (-40, 50), (-5, -1)]:
        ball = tilt(Ball([[(low + high) / 2]], (high - low) / 2), Ball([[1.0]]))
        (slope,) = getattr(ball, name)()[1:].centre.flat
        (spread,) = getattr(ball, name)()[1:].radius.flat
        inside = slopes[name](np.linspace(low, high, 1001))
        assert (np.abs(inside - slope) <= spread + 1e-15).all()
        assert spread <= 0.75 * (inside.max() - inside.min()) + 1e-12


def tilt(ball: Ball, slopes: Ball) -> Ball:
    """A ball that depends on something."""
    return kernel.join([ball, slopes], axis=0)


def slope_of_logistic(x: np.ndarray) -> np.ndarray:
    return np.exp(-np.abs(x)) / (1 + np.exp(-np.abs(x))) ** 2


@pytest.mark.parametrize("name", [*OPERATIONS])
def test_slopes_of_operations(name: str):
    """The derivative along a line through points of the ball, by differences in 400 bits."""
    on_balls, exactly, *_ = OPERATIONS[name]
    if name == "relu":
        return  # nothing that has a slope is rectified
    rng = np.random.default_rng(5)
    for _ in range(6):
        drawn = [Draw(rng, 2.0) for _ in range(NUM_OPERANDS.get(name, 2))]
        lines = [rng.normal(size=(COUNT, 1)) for _ in drawn]
        pairs = zip(drawn, lines, strict=True)
        operands = [tilt(Ball(it.ball.centre, it.ball.radius), Ball(line)) for it, line in pairs]
        slope = on_balls(*operands)[1:]
        with flint.ctx.workprec(BITS):
            tiny, ends = flint.arb(10) ** -40, []
            for sign in (1, -1):
                moved = [
                    [x + sign * tiny * v for x, v in zip(balls(it.exact), balls(line), strict=True)]
                    for it, line in zip(drawn, lines, strict=True)
                ]
                ends.append([exactly(*numbers) for numbers in zip(*moved, strict=True)])
            for place, (ahead, behind) in enumerate(zip(*ends, strict=True)):
                gap = abs((ahead - behind) / (2 * tiny) - precise.ball(slope.centre[0, place, 0]))
                assert not gap > precise.ball(slope.radius[0, place, 0]) + flint.arb(10) ** -60
        assert np.median(slope.radius) < 10


GAINS = [1e-30, 1e-3, 0.3, 1.0, 4.0, 1e4, 1e12]
OBSERVATIONS = [(cue, junction) for cue in (-1, 0, 1) for junction in (0, 1)]


def run_programs(
    subject: Subject, observation: tuple[int, int], state: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Logits and state by each program."""
    seen = np.array([*observation, *[0] * (subject.inputs - 2)], np.float32)
    logits, after = step_compiled(subject.policy, jnp.asarray(seen), jnp.asarray(state))
    yield np.asarray(logits), np.asarray(after)
    yield subject.portable.step(seen, state)
    after, logits = subject.program.step(subject.program.look(*observation, None), state)
    yield logits, after


@pytest.mark.parametrize("gain", GAINS)
@pytest.mark.parametrize("name", SHAPES)
def test_step_of_every_program_is_in_the_ball(name: str, gain: float):
    rng, decided = np.random.default_rng(7), []
    for seed in range(2):
        subject = Subject(name, seed, gain)
        policy = proofs.make_kernel(subject.walker)
        for number, observation in enumerate(OBSERVATIONS):
            drawn = draw_state(rng, policy, is_exact=number % 2 == 0)
            try:
                seen = policy.look(*observation, None)
                after = policy.update(seen, drawn.ball)
                logits = policy.decode(seen, after)
            except UndecidedError:
                continue
            decided.append(number)
            with flint.ctx.workprec(BITS):
                exact = precise.step_policy(*subject.walker, observation, balls(drawn.exact))
            programs = list(run_programs(subject, observation, drawn.program[:, 0]))
            assert_holds(logits, exact[0], [found[0] for found in programs])
            assert_holds(after, exact[1], [found[1] for found in programs])
    # In four layers errors grow to what may overflow, and BMRUs may be near their thresholds.
    assert decided or gain > 4


def draw_state(rng: np.random.Generator, policy: Policy, is_exact: bool) -> Draw:
    """States of a box and in error, or known exactly; those of a BMRU always are."""
    known = find_discrete(policy.shape) | is_exact
    drawn = Draw(rng, 1.0, (len(known), 1))
    drawn.exact[known] = drawn.program[known]
    centre, radius, error = (
        np.where(known[:, None], instead, part)
        for instead, part in [
            (drawn.program, drawn.ball.centre),
            (0, drawn.ball.radius),
            (0, drawn.ball.error),
        ]
    )
    drawn.ball = Ball(centre, radius, error)
    return drawn


@pytest.mark.parametrize("turning", [False, True])
@pytest.mark.parametrize("name", SHAPES)
def test_orbit_of_every_program_is_in_the_regions(name: str, turning: bool):
    num_seen = 0
    for seed in range(3):
        subject = Subject(name, seed, 0.7)
        policy = proofs.make_kernel(subject.walker)
        zeros = np.zeros(policy.start.centre.size, np.float32)
        states = [after for _, after in run_programs(subject, (1, 0), zeros)]
        exact = balls(zeros)
        with flint.ctx.workprec(BITS):
            exact = precise.step_policy(*subject.walker, (1, 0), exact)[1]
        region: dict[str, Any] = {}
        for _ in range(12):
            try:
                if region:
                    image = kernel.advance(policy, region)
                else:
                    image = policy.update(policy.look(1, 0), policy.start)
                region = kernel.wrap(image, turning)
            except (UndecidedError, np.linalg.LinAlgError):
                break
            if region["radius"].max() > 0.5:
                break
            num_seen += 1
            for found in (region, as_region(image.box())):
                assert_inside(found, [*map(balls, states), exact])
            each = range(len(states))
            states = [list(run_programs(subject, (0, 0), states[n]))[n][1] for n in each]
            with flint.ctx.workprec(BITS):
                exact = precise.step_policy(*subject.walker, (0, 0), exact)[1]
    assert num_seen >= 2


def as_region(box: Ball) -> dict[str, Any]:
    """A box as a region."""
    return {"centre": box.centre[0, :, 0], "radius": box.radius[0, :, 0], "basis": None}


def assert_inside(region: dict[str, Any], states: list[list[Any]]) -> None:
    """centre + basis y with |y| <= radius, solved for y exactly."""
    centre, radius, basis = region["centre"], region["radius"], region["basis"]
    size = len(centre)
    with flint.ctx.workprec(BITS):
        matrix = flint.arb_mat(size, size, balls(np.eye(size) if basis is None else basis))
        for state in states:
            gap = [x - c for x, c in zip(state, balls(centre), strict=True)]
            place = matrix.solve(flint.arb_mat(size, 1, gap))
            for row, bound in enumerate(balls(radius)):
                assert not abs(place[row, 0]) > bound


@pytest.mark.parametrize("basis", ["none", "identity", "random", "flat"])
def test_measured_regions_contain_what_they_measure(basis: str):
    """Points of image + slope y with |y| <= 1 are in the region of the measured radius."""
    rng, size = np.random.default_rng(11), 4
    for _ in range(40):
        scale = 10.0 ** rng.uniform(-6, 2)
        slopes = Ball(scale * rng.normal(size=(3, size, 1)), 1e-3 * scale)
        spread = scale * rng.uniform(size=(size, 1))
        image = tilt(Ball(rng.normal(size=(size, 1)), spread, 1e-3), slopes)
        value = image.centre[0, :, 0]
        chosen = {"none": None, "identity": np.eye(size), "random": rng.normal(size=(size, size))}
        # So flat that its inverse has few digits.
        turns = [np.linalg.qr(rng.normal(size=(size, size)))[0] for _ in range(2)]
        chosen["flat"] = turns[0] * 10.0 ** np.array([0, 0, -1, rng.uniform(-5, -3)]) @ turns[1]
        centre = value + scale * rng.normal(size=size)
        try:
            radius, bare = (
                kernel.measure(it, centre, chosen[basis]) for it in (image, Ball(value[:, None]))
            )
        except UndecidedError:
            continue
        region = {"centre": centre, "basis": chosen[basis]}
        assert_inside({**region, "radius": bare}, [balls(value)])
        with flint.ctx.workprec(BITS):
            y = balls(rng.choice([-1, 1], 3))
            ends = pair(image.centre, image.radius + image.error * (1 - 1e-15))
            drawn = [a + rng.choice([-1, 1]) * b for a, b in ends]
            start, *columns = (drawn[n : n + size] for n in range(0, 4 * size, size))
            point = [
                start[n] + sum(column[n] * share for column, share in zip(columns, y, strict=True))
                for n in range(size)
            ]
        assert_inside({**region, "radius": radius}, [point])
        if basis == "none":
            assert_inside(as_region(image.box()), [point])


def pair(one: np.ndarray, other: np.ndarray) -> Iterator[tuple[Any, Any]]:
    return zip(balls(one), balls(np.broadcast_to(other, one.shape)), strict=True)


@pytest.mark.parametrize("name", SHAPES)
def test_slopes_of_a_step_hold_differences(name: str):
    """Of points all over a region, and of directions that are not the axes."""
    subject, rng = Subject(name, 4, 0.7), np.random.default_rng(0)
    policy = proofs.make_kernel(subject.walker)
    moving = ~find_discrete(policy.shape)
    size = len(moving)
    basis = np.where(moving[:, None] & moving, rng.normal(size=(size, size)), np.eye(size))
    centre, radius = 0.5 * rng.normal(size=size), np.where(moving, 1e-3, 0)
    region = {"centre": centre, "radius": radius, "basis": basis}
    image = kernel.advance(policy, region)
    # The error is that of the whole region, and not of its centre alone.
    whole = policy.update(policy.corridor, kernel.span(**region).box())
    assert (image.error[:1] >= whole.error[:1]).all()
    with flint.ctx.workprec(BITS):
        for _ in range(3):
            y = rng.choice([-1, 1, 0.3], size)
            point = step_idle(subject, add(centre, basis, radius * y))
            for row, number in enumerate(point):
                columns = pair(image.centre[:, row, 0], image.radius[:, row, 0])
                least, most = flint.arb(0), flint.arb(0)
                for (middle, spread), share in zip(columns, balls(np.append(1, y)), strict=True):
                    least, most = least + middle * share, most + spread * abs(share)
                assert not abs(number - least) > most


def add(centre: np.ndarray, basis: np.ndarray, y: np.ndarray) -> list[Any]:
    return [c + s for c, s in zip(balls(centre), precise.apply(basis, balls(y)), strict=True)]


def step_idle(subject: Subject, state: list[Any]) -> list[Any]:
    return precise.step_policy(*subject.walker, [0, 0], state)[1]


@pytest.mark.parametrize("size", [3e38, -3e38, 1.5e30])
def test_what_may_overflow_is_not_decided(size: float):
    walker = precise.make_holder(0.0, 0.5)
    cues = proofs.write(proofs.prove(walker, 10))["cues"]
    walker[0]["policy.cell.alpha"][1] = size
    for cue in cues:
        cue["attractor"][0]["centre"][1] = float(cue["cue"] * np.float32(size))
    with pytest.raises(UndecidedError, match="overflow"):
        proofs.derive_in_kernel(walker, cues)


@pytest.mark.parametrize("number", [1e31, np.inf, np.nan])
def test_numbers_beyond_all_bounds_are_not_decided(number: float):
    one = Ball([[1.0]])
    with np.errstate(all="ignore"):
        for operation in (
            lambda: one + Ball([[number]]),
            lambda: one * Ball([[number]]),
            lambda: np.array([[number]]) @ one,
            lambda: one * Ball([[1.0]], 0.0, number),
        ):
            with pytest.raises(UndecidedError, match="overflow"):
                operation()


def test_near_tie_is_not_decided():
    yes, no, unknown = (True, True), (False, False), (False, True)  # surely, and possibly

    def judge(logits: Ball, action: int) -> tuple[bool, bool]:
        surely, possibly = kernel.judge(logits, action)[:, 0]
        return bool(surely), bool(possibly)

    logits = Ball([[0.0], [1.25], [0.0], [1.1]], [[0.0], [0.25], [0.0], [0.1]])
    assert judge(logits, 1) == judge(logits, 3) == unknown
    assert judge(logits, 0) == no
    assert judge(Ball([[0.0], [1.0], [0.0], [0.0]]), 1) == yes
    # The same where a program may be wrong by so much.
    logits = Ball([[0.0], [1.0], [0.0], [0.9]], 0.0, [[0.0], [0.06], [0.0], [0.06]])
    assert judge(logits, 1) == unknown
    # And of two that are the same nobody knows which is taken.
    assert judge(Ball([[0.0], [1.0], [0.0], [1.0]]), 1) == unknown


@pytest.mark.parametrize("basis", [None, "identity"])
def test_passing_by_is_not_staying(basis: Any):
    """A set that the orbit enters, on which the agent decides well, and which it leaves again."""
    walker = precise.make_leak(4.0, -0.75)
    policy, cues = proofs.make_kernel(walker), []
    for cue in (-1, 1):
        state = policy.update(
            policy.corridor, policy.update(policy.look(cue, 0, None), policy.start)
        )
        box = {"centre": state.centre[0, :, 0].tolist(), "radius": [1e-2, 1e-2], "basis": basis}
        cues.append({"cue": cue, "steps": 1, "enclosure": "boxes", "attractor": [box]})
    with pytest.raises(UndecidedError, match="is not mapped into the next"):
        proofs.derive_in_kernel(walker, cues)


def test_held_state_must_be_that_of_the_orbit():
    walker = precise.make_holder(0.0, 0.5)
    cues = proofs.write(proofs.prove(walker, 10))["cues"]
    assert proofs.derive_in_kernel(walker, cues).optimal.members.all()
    cues[0]["attractor"] = cues[1]["attractor"]
    with pytest.raises(UndecidedError, match="is not mapped into the next"):
        proofs.derive_in_kernel(walker, cues)
