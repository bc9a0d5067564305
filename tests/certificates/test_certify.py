import dataclasses
import json

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from remanence import checker, envs
from remanence.cells import BMRU, MinGRU
from remanence.certificates import certify, explain, find_compiled, find_portable, headline
from remanence.certificates._arrivals import Undecided, list_arrivals
from remanence.certificates._certify import _list_solved
from remanence.certificates._course import chart_course
from remanence.certificates._itinerary import Itinerary
from remanence.certificates._lingering import respond
from remanence.certificates._orbit import Orbit
from remanence.certificates._walker import Walker
from remanence.errors import InvalidOptionError
from remanence.evaluation import evaluate
from tests.certificates.agents import CELLS, make_agent, solve_by_hand
from tests.certificates.automata import DOWN, RIGHT, UP, Automaton

ENV = envs.make("tmaze")


@pytest.fixture(scope="module")
def forever():
    return certify(solve_by_hand(), ENV)


def test_an_agent_made_by_hand_lasts_for_ever(forever):
    assert forever.portable is not None
    for found in (forever.compiled, forever.portable):
        assert found.optimal.verdict == found.solved.verdict == "every length"
        assert found.solved.failure is None
        assert found.closures == {-1: (0, 1), 1: (0, 1)}
        assert found.compatible.holds
        assert found.separating.holds
        assert found.merge is None
        assert all(dataclasses.astuple(found.multistability))
        assert found.multistability.holds
    assert forever.contraction.optimal == forever.compiled.optimal.lengths
    assert headline(forever).startswith("LASTS FOR EVER")


@pytest.mark.parametrize("cell", CELLS)
def test_the_certificate_is_what_plain_stepping_shows(cell):
    lengths, num_decided = [*range(1, 40), 300], 0
    for seed in range(4):
        agent = make_agent(cell, seed, gain=1.0)
        found = find_compiled(agent, ENV, budget=20_000)
        episodes = evaluate(agent, ENV, lengths, plain=True).episodes
        right = (episodes["end"] == "right").reshape(-1, 2).all(axis=1)
        quick = episodes["num_steps"].reshape(-1, 2).max(axis=1) == lengths
        for horizons, shown in [(found.solved, right), (found.optimal, right & quick)]:
            if horizons.lengths is None:
                continue
            num_decided += 1
            np.testing.assert_array_equal([n in horizons.lengths for n in lengths], shown)
    assert num_decided >= 4


def with_cell(agent, weight, bias):
    """The agent with another input projection in its cell."""
    return eqx.tree_at(
        lambda it: (it.policy.cell.inputs.weight, it.policy.cell.inputs.bias),
        agent,
        (weight, bias),
    )


def test_the_orbit_of_a_mingru_is_its_closed_form():
    agent = make_agent("mingru", 1, gain=1.0)
    cell = agent.policy.cell
    assert isinstance(cell, MinGRU)
    bias = jnp.asarray([[3.0, 1.0, 5.0, 0.0, 2.0], [0.5, -1.0, 0.25, 2.0, -0.5]])
    agent = with_cell(agent, cell.inputs.weight, bias)
    itinerary = Itinerary(Walker(agent, ENV[0]), goal=1)
    itinerary.orbit.extend(100_000)
    z, n = np.asarray(bias, np.float64)
    decay, start = 1 / (1 + np.exp(-z)), itinerary.read_state(0).astype(np.float64)
    for time in [0, 1, 7, 50, 400]:
        expected = n + decay**time * (start - n)
        np.testing.assert_allclose(itinerary.read_state(time), expected, rtol=1e-5, atol=1e-6)
    assert itinerary.orbit.closure is not None
    # Rounding stops an orbit where a step is under half a unit in the last place, and no later
    # than where the distance itself is that small.
    slowest = np.max(decay)
    assert itinerary.orbit.closure.transient <= np.log(1e-9) / np.log(slowest) + 2


@pytest.mark.parametrize("n", [0.3, 0.5, 0.7, -0.7])
def test_a_bmru_unit_holds_if_and_only_if_its_threshold_is_not_exceeded(n):
    agent = solve_by_hand()
    cell = agent.policy.cell
    assert isinstance(cell, BMRU)
    # The cue's unit, with a drive of n in the corridor against a threshold of 1/2.
    bias = cell.inputs.bias.at[:, 0].set(jnp.asarray([n, 0.5]))
    certificate = certify(with_cell(agent, cell.inputs.weight, bias), ENV)
    assert (certificate.compiled.solved.verdict == "every length") == (abs(n) <= 0.5)
    if abs(n) > 0.5:
        # It jumps to S(n) α on the first step without a cue, and the cues merge there.
        assert certificate.compiled.merge == 1
        assert certificate.compiled.solved.lengths is not None
        assert certificate.compiled.solved.lengths.list_runs() == [(1, 1)]
        failure = certificate.compiled.solved.failure
        assert failure is not None
        assert (failure.kind, failure.length, failure.cue) == ("forgets", 2, -np.sign(n))
        assert certificate.compiled.multistability.different_attractors is False
        assert not certificate.compiled.separating.holds
        assert certificate.compiled.separating.witness is not None
        assert certificate.compiled.separating.witness.num_steps == 0


def with_output(agent, bias, weight=None):
    weight = agent.policy.output.weight if weight is None else weight
    return eqx.tree_at(
        lambda it: (it.policy.output.weight, it.policy.output.bias),
        agent,
        (weight, jnp.asarray(bias, jnp.float32)),
    )


@pytest.mark.parametrize(
    ("bias", "kind", "length"),
    [
        # right, up, left, down
        ([0, 0, 0, 9], "turns early", 2),
        ([0, 0, 20, 0], "steps back", 2),
        ([9, 0, 0, 0], "stalls at the junction", 1),
    ],
)
def test_failures_are_told_apart(bias, kind, length):
    certificate = certify(with_output(solve_by_hand(), bias), ENV)
    failure = certificate.compiled.optimal.failure
    assert failure is not None
    if kind == "stalls at the junction":
        assert (failure.kind, failure.length) == (kind, length)
        assert certificate.compiled.solved.verdict == "no length"
    elif kind == "turns early":
        # With length 1 the arm down is taken whatever the cue.
        assert failure.length == 1
        assert failure.kind == "wrong arm"
    else:
        assert failure.length == 1


def test_the_wrong_way_round_is_the_wrong_arm():
    agent = solve_by_hand()
    swapped = agent.policy.output.weight[jnp.array([0, 3, 2, 1])]
    certificate = certify(with_output(agent, jnp.zeros(4), swapped), ENV)
    assert certificate.compiled.solved.verdict == "no length"
    failure = certificate.compiled.solved.failure
    assert failure is not None
    assert failure.kind == "wrong arm"


def test_what_does_not_close_within_the_budget_is_undecided():
    agent = make_agent("gru", 0)  # large weights: its orbit wanders
    certificate = certify(agent, ENV, budget=200)
    assert certificate.compiled.closures[-1] is None
    assert certificate.compiled.solved.verdict == "undecided"
    assert "200" in str(certificate.compiled.solved.reason)
    assert headline(certificate).startswith("UNDECIDED")
    json.dumps(certificate.to_json(), allow_nan=False)


def check(found, path):
    """What comes of every statement, and the exit code."""
    (path / "certificate.json").write_text(json.dumps(found))
    report = checker.check(path / "certificate.json", path / "agent.safetensors")
    return {(s.part, s.name): s.status for s in report.statements}, report.exit_code


def test_the_independent_checker_accepts_it(forever, tmp_path):
    solve_by_hand().save(tmp_path / "agent.safetensors")
    forever.save(tmp_path / "certificate.json")
    found = json.loads((tmp_path / "certificate.json").read_text())
    statuses, exit_code = check(found, tmp_path)
    # Nothing is refuted; most of what is said of the compiled program is seen only by running it.
    assert exit_code == 3
    assert {status for (part, _), status in statuses.items() if part != "compiled"} == {"verified"}
    assert statuses["compiled", "optimal"] == "verified"
    assert check({**found, "compiled": None}, tmp_path)[1] == 0
    found["compiled"]["optimal"]["runs"] = []
    statuses, exit_code = check(found, tmp_path)
    assert (statuses["compiled", "optimal"], exit_code) == ("refuted", 1)
    found["agent"]["sha256"] = "0" * 64
    statuses, exit_code = check(found, tmp_path)
    assert (statuses["agent", "sha256"], exit_code) == ("refuted", 1)
    assert len(statuses) == 2


def test_a_false_claim_about_what_is_solved_is_reported(tmp_path):
    cell = solve_by_hand().policy.cell
    assert isinstance(cell, BMRU)
    bias = cell.inputs.bias.at[:, 0].set(jnp.asarray([0.7, 0.5]))
    agent = with_cell(solve_by_hand(), cell.inputs.weight, bias)
    agent.save(tmp_path / "agent.safetensors")
    found = json.loads(json.dumps(certify(agent, ENV).to_json()))
    statuses, _ = check(found, tmp_path)
    assert statuses["portable", "solved"] == "verified"
    assert statuses["compiled", "solved"] == statuses["compiled", "merge"] == "not checked"
    for part in ("portable", "compiled"):
        every = {"listed": 1, "period": 1, "runs": [[1, 1]]}
        statuses, exit_code = check(found | {part: found[part] | {"solved": every}}, tmp_path)
        assert (statuses[part, "solved"], exit_code) == ("refuted", 1)


def test_an_agent_that_fails_at_length_one_alone_still_lasts():
    # The cue's unit is not set when the junction is seen with the cue.
    agent = solve_by_hand()
    cell = agent.policy.cell
    assert isinstance(cell, BMRU)
    certificate = certify(
        with_cell(agent, cell.inputs.weight.at[1, 0, 1].set(9.0), cell.inputs.bias), ENV
    )
    assert str(certificate.compiled.solved.lengths) == "all lengths from 2 on"
    assert headline(certificate).startswith("LASTS FOR EVER, but not everywhere")


@pytest.mark.parametrize("number", [jnp.nan, 1e30])
def test_weights_that_are_not_numbers_or_huge_do_not_break_it(number, tmp_path):
    agent = make_agent("mingru", 1, gain=1.0)
    cell = agent.policy.cell
    assert isinstance(cell, MinGRU)
    broken = with_cell(agent, cell.inputs.weight, cell.inputs.bias.at[1].set(number))
    certificate = certify(broken, ENV, budget=5_000)
    certificate.save(tmp_path / "certificate.json")
    assert list(explain(certificate))


def test_rounding_alone_does_not_make_it_multistable():
    """A minGRU has one attractor; in floats its cues may stall in neighbouring numbers."""
    agent = make_agent("mingru", 1, gain=1.0)
    cell = agent.policy.cell
    assert isinstance(cell, MinGRU)
    bias = jnp.asarray([[3.0, 1.0, 5.0, 0.0, 2.0], [0.5, -1.0, 0.25, 2.0, -0.5]])
    found = find_compiled(with_cell(agent, cell.inputs.weight, bias), ENV, budget=5_000)
    assert found.multistability.different_attractors is False
    assert found.distance is not None
    assert found.distance < 1e-4


def test_lingering_at_many_junctions_may_take_longer_than_an_orbit():
    """One that only goes right stalls at every junction, each of which has to be looked at."""
    agent = make_agent("gru", 0, gain=1.0)
    stays = jnp.asarray([1e6, 0.0, 0.0, 0.0])
    policy = eqx.tree_at(lambda it: it.output.bias, agent.policy, stays)
    agent = eqx.tree_at(lambda it: it.policy, agent, policy)
    compiled, portable = (find(agent, ENV, budget=150) for find in (find_compiled, find_portable))
    assert all(closure is not None for closure in compiled.closures.values())
    assert compiled.solved.verdict == "no length"
    # Its steps are dear, so that it is given no more for all junctions than for one orbit.
    assert portable.solved.reason == "there is too much lingering at junctions to look at all of it"


def solve(automaton, lingering, again):
    """The lengths that are solved, with so many steps of lingering; None if undecided."""
    itineraries = {goal: Itinerary(automaton, goal, lingering) for goal in (-1, 1)}
    try:
        one, other = _list_solved(itineraries, 10, 10_000, again).values()
    except Undecided:
        return None
    return one & other


def test_a_cue_that_fails_from_some_length_on_spares_most_of_the_other():
    rng, num_spared = np.random.default_rng(5), 0
    for _ in range(400):
        automaton = Automaton.draw(rng, num_memories=12, actions=(0.91, 0.03, 0.03, 0.03))
        exact = solve(automaton, 10_000, None)
        assert exact is not None
        for lingering in (1, 20, 60):
            spared = solve(automaton, lingering, lingering)
            assert spared in (None, exact)
            num_spared += spared is not None and solve(automaton, lingering, None) is None
    assert num_spared >= 50


def test_what_is_left_of_the_other_has_to_be_looked_at_all_the_same():
    """After one cue it is right up to length 4, after the other it lingers at every junction."""
    right = [min(number + 1, 3) for number in range(4)]
    right += [min(number + 1, 13) for number in range(4, 14)]
    corridor = [(number, RIGHT) for number in [*right, *range(14, 19)]]
    junction = [(0, UP)] * 3 + [(3, DOWN)] + [(14, RIGHT)] * 10
    junction += [(number + 1, RIGHT) for number in range(14, 18)] + [(18, DOWN)]
    openings = [[(0, RIGHT), (4, RIGHT)], [(0, UP), (4, DOWN)]]
    automaton = Automaton(corridor, junction, openings)
    assert str(solve(automaton, 10_000, None)) == "lengths 1 to 4"
    assert solve(automaton, 1, None) is None
    assert str(solve(automaton, 1, 100)) == "lengths 1 to 4"
    assert solve(automaton, 1, 1) is None


def count_down(num_memories: int) -> Automaton:
    """One whose memory falls by one in each step and then stands still, whatever it sees."""
    falls = [(max(0, number - 1), RIGHT) for number in range(num_memories)]
    start = (num_memories - 1, RIGHT)
    return Automaton(falls, falls, [[start, start], [start, start]])


def test_a_memory_that_stands_still_is_seen_soon():
    # Brent's method alone would have to keep a memory after 2999, which is that after 4095.
    orbit = Orbit(count_down(3000), 1)
    orbit.extend(3100)
    assert orbit.closure == (2999, 1)
    for num_memories in (1, 2, 64, 65, 66, 128, 129):  # where blocks begin and end
        orbit = Orbit(count_down(num_memories), 1)
        orbit.extend(1000)
        assert orbit.closure == (num_memories - 1, 1)
        np.testing.assert_array_equal(orbit.memory(500), orbit.memory(num_memories - 1))


def test_who_stands_still_at_a_junction_is_seen_soon():
    walker = count_down(1000)
    response, num_steps = respond(walker, np.array([999, RIGHT]), 1, None, 10_000)
    assert (response.arm, response.reach) == (0, 0)
    assert num_steps == 1024


def test_words_fit_a_screen(forever):
    text = list(explain(forever))
    assert sum(1 + len(sentence) // 76 for sentence in text) < 20
    assert all(sentence.endswith(".") for sentence in text)


def test_other_environments_and_budgets_are_refused():
    with pytest.raises(InvalidOptionError, match="T-maze"):
        certify(solve_by_hand(), envs.make("lookup-tree-maze"))
    with pytest.raises(InvalidOptionError, match="budget"):
        certify(solve_by_hand(), ENV, budget=0)


def test_a_time_limit_of_the_fewest_steps_asks_for_the_optimum():
    agent = make_agent("gru", 2, gain=1.0)
    certificate = certify(agent, envs.make("tmaze", time_limit_factor=1))
    assert certificate.compiled.solved.lengths == certificate.compiled.optimal.lengths


def test_a_certificate_comes_out_the_same_again():
    one, two = (
        certify(make_agent("brc", 1, gain=1.0), ENV, budget=20_000).to_json() for _ in range(2)
    )
    assert one == two


def test_a_long_orbit_is_walked_once_for_all_lengths(monkeypatch):
    """An agent may remember for a hundred thousand steps; all lengths then share one list."""
    calls = []
    monkeypatch.setattr(
        "remanence.certificates._itinerary.list_arrivals",
        lambda actions: calls.append(len(actions)) or list_arrivals(actions),
    )
    ring = [((memory + 1) % 500, RIGHT) for memory in range(500)]
    turn = [(memory, UP if memory % 2 else DOWN) for memory in range(500)]
    course = chart_course(
        Itinerary(Automaton(ring, turn, [[(0, RIGHT)] * 2, [(0, UP)] * 2]), -1), budget=10_000
    )
    assert len(course.arms) > 500
    assert len(calls) <= 1
