"""The portable program three times: the library's, the checker's, and one in C, bit for bit."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import flint
import numpy as np
import pytest

from remanence.checker import _program
from remanence.portable import _arithmetic as portable
from tests.certificates import high_precision as precise
from tests.checker.programs import SHAPES, Subject

DTYPES = (np.float32, np.float64)
NUM_STEPS = 300


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("previous_action", [False, True])
@pytest.mark.parametrize("name", SHAPES)
def test_both_programs_have_the_same_bits(name: str, previous_action: bool, dtype: Any):
    for seed, gain in enumerate((0.3, 1.0, 3.0)):
        subject = Subject(name, seed, gain, previous_action, dtype)
        rng, program, library = np.random.default_rng(seed), subject.program, subject.portable
        one = other = program.start
        assert one.dtype == library.initial_state().dtype == dtype
        for _ in range(NUM_STEPS // 3):
            cue, junction = rng.integers(-3, 4, 2).tolist()
            previous = [None, 0, 1, 2, 3][rng.integers(5)]
            one, logits = program.step(program.look(cue, junction, previous), one)
            seen = [cue, junction, *(float(previous == a) for a in range(4))][: subject.inputs]
            chosen, other = library.act(seen, other)
            assert one.tobytes() == other.tobytes()
            assert int(logits.argmax()) == chosen


def test_states_side_by_side_are_those_one_by_one():
    for name in SHAPES:
        policy, rng = Subject(name, 1).portable, np.random.default_rng(0)
        look = policy.prepare(np.array([1, 0], np.float32))
        rows = rng.normal(size=(7, policy.cell.state_size)).astype(np.float32)
        after = policy.update(look, rows)
        for row, found in zip(rows, after, strict=True):
            assert policy.update(look, row).tobytes() == found.tobytes()
        logits = [policy.decode(look, row) for row in after]
        assert np.stack(logits).tobytes() == policy.decode(look, after).tobytes()


def list_arguments(dtype: Any) -> np.ndarray:
    """Numbers of all sizes that a type has, and those around which things change."""
    rng, limits = np.random.default_rng(0), np.finfo(dtype)
    smallest = np.log10(float(limits.smallest_subnormal) if dtype == np.float32 else 1e-320)
    exponents = rng.uniform(smallest, 2, 6000)
    special = [0, 20, 19.999, 20.001, 160, limits.max, limits.tiny, limits.smallest_subnormal]
    counted = np.arange(1, 40) * limits.smallest_subnormal
    drawn = np.concatenate([10.0**exponents, rng.uniform(0, 22, 3000), special, counted])
    return np.concatenate([drawn, -drawn]).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_tanh_is_right_to_eight_units_in_the_last_place(dtype: Any):
    worst_known = np.array([0.25463066], dtype)  # 6.3 units off in binary32
    x = np.concatenate([list_arguments(dtype), worst_known])
    found = portable.tanh(x)
    np.testing.assert_array_equal(found, _program.tanh(x))
    with flint.ctx.workprec(200):
        exact = [precise.ball(np.clip(number, -100, 100)).tanh() for number in x]
        for result, number in zip(found, exact, strict=True):
            unit = float(np.spacing(np.abs(dtype(float(number.mid())))))
            assert not abs(precise.ball(result) - number) > 8 * precise.ball(unit)


@pytest.mark.parametrize("dtype", DTYPES)
def test_sigmoid_is_right_to_four_units_of_one(dtype: Any):
    x = list_arguments(dtype)
    found = portable.sigmoid(x)
    np.testing.assert_array_equal(found, _program.sigmoid(x))
    exact = 1 / (1 + np.exp(-np.clip(x.astype(np.float64), -700, 700)))
    assert np.abs(found - exact).max() <= 4 * np.finfo(dtype).eps
    assert ((found >= 0) & (found <= 1)).all()


@pytest.fixture(scope="module")
def in_c(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Runs the program in C on raw numbers, and gives its lines of words."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    directory, source = tmp_path_factory.mktemp("c"), Path(__file__).with_name("portable.c")
    for real in ("float", "double"):
        options = ["-std=c99", "-O2", "-ffp-contract=off", f"-DREAL={real}"]
        command = [compiler, *options, "-o", str(directory / real), str(source)]
        subprocess.run(command, check=True, capture_output=True)

    def run(what: str, *parts: Any, dtype: Any) -> list[list[str]]:
        numbers = np.concatenate([np.ravel(np.asarray(part, dtype)) for part in parts])
        real = "float" if dtype == np.float32 else "double"
        done = subprocess.run(
            [str(directory / real), what], input=numbers.tobytes(), capture_output=True, check=True
        )
        return [line.split() for line in done.stdout.decode().splitlines()]

    return run


def write_bits(numbers: np.ndarray) -> list[str]:
    digits = 2 * numbers.itemsize
    return [f"{int(word):0{digits}x}" for word in numbers.view(f"u{numbers.itemsize}")]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("what", ["tanh", "sigmoid"])
def test_curves_are_those_of_c(what: str, dtype: Any, in_c: Any):
    x = list_arguments(dtype)
    (found,) = in_c(what, x, dtype=dtype)
    assert found == write_bits(getattr(portable, what)(x))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("cell", ["gru", "lstm", "mingru"])
def test_agents_are_those_of_c(cell: str, dtype: Any, in_c: Any):
    for seed, size in enumerate((1, 2, 3, 5, 8, 13, 33)):
        rng = np.random.default_rng(seed)
        arrays = precise.draw_cell(rng, cell, 2, size, 1.5)
        arrays |= {"output.weight": rng.normal(size=(4, size)), "output.bias": rng.normal(size=4)}
        arrays = {name: array.astype(dtype) for name, array in arrays.items()}
        weights = {n if n.startswith("output") else f"cell.{n}": a for n, a in arrays.items()}
        shape = {**precise.describe_units(cell, size), "previous_action": False}
        program = _program.Program(weights, shape)
        observations = rng.integers(-3, 4, (NUM_STEPS, 2))
        names = ("inputs.weight", "inputs.bias", "recurrent_weight", "output.weight", "output.bias")
        parts = [arrays[name] for name in names if name in arrays]
        found = in_c(cell, [2, size, NUM_STEPS], *parts, observations, dtype=dtype)
        state = program.start
        for seen, words in zip(observations.tolist(), found, strict=True):
            cue, junction = seen
            state, logits = program.step(program.look(cue, junction, None), state)
            assert words == [*write_bits(state), str(int(logits.argmax()))]
