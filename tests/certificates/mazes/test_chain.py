"""Shares of right decisions against probabilities that are moved step by step, in a dictionary."""

import collections
import functools

import numpy as np
import pytest

from remanence.certificates.mazes import MazeCertificate, explain_mazes, list_tables
from tests.certificates.mazes.agents import MAZE, make_prover, make_random, remember_by_hand

RIGHT, UP, LEFT, DOWN = range(4)
TABLES = list_tables(MAZE)


def move_plainly(policy, table, lengths, num_mazes: int) -> list[float]:
    """The probability to be right in each maze; written out, without the graph."""

    @functools.cache
    def act(seen: tuple[float, ...], memory: bytes) -> tuple[np.ndarray, bytes]:
        """The probabilities of all actions, and the memory after what is seen."""
        logits, state = policy.step(np.array(seen, np.float32), np.frombuffer(memory, np.float32))
        likely = np.exp(logits.astype(float) - logits.max())
        return likely / likely.sum(), state.tobytes()

    shares = np.zeros(num_mazes)
    mass = collections.defaultdict(float)
    for index in (0, 1):
        for length in lengths:
            # Both entries differ, so a fair coin for the goal is one for the index.
            mass[0, index, length, 0, True, policy.initial_state().tobytes()] += 0.5 / len(lengths)
    while sum(mass.values()) > 1e-10:
        ahead = collections.defaultdict(float)
        for (maze, index, length, position, entered, memory), share in mass.items():
            first = entered and not np.frombuffer(memory, np.float32).any() and maze == 0
            shown = [entered * (index == entry) for entry in (0, 1)]
            flag = position == length - 1
            likely, after = act((*(table if first else (0, 0)), *shown, flag), memory)
            for action, odds in enumerate(share * likely):
                if flag and action in (UP, DOWN):
                    shares[maze] += odds * ((action == DOWN) == (table[index] > 0))
                    for following in (0, 1) if maze + 1 < num_mazes else ():
                        for other in lengths:
                            key = (maze + 1, following, other, 0, True, after)
                            ahead[key] += odds * 0.5 / len(lengths)
                else:
                    step = {RIGHT: 1, LEFT: -1}.get(action, 0)
                    place = min(max(position + step, 0), length - 1)
                    ahead[maze, index, length, place, False, after] += odds
        mass = ahead
    return shares.tolist()


@pytest.mark.parametrize("seed", [0, 3])
def test_shares_are_those_of_plain_probabilities(seed: int):
    made = make_random("bmru", seed, size=3)
    made[0]["policy.output.weight"] *= np.float32(0.2)
    made[0]["policy.output.bias"] *= np.float32(0.2)
    prover = make_prover(made, lengths=(1, 2))
    for table in TABLES:
        chain = prover.make_chain(table)
        assert chain is not None
        shares = move_plainly(prover.policy, table, (1, 2), 4)
        walked = [share for share, _ in zip(chain.walk(), range(4), strict=False)]
        walked += walked[-1:] * (4 - len(walked))
        np.testing.assert_allclose(walked, shares, atol=1e-8)
        means = [shares[0], float(np.mean(shares))]
        np.testing.assert_allclose(chain.average([1, 4]), means, atol=1e-8)


@pytest.mark.parametrize("seed", range(4))
def test_in_the_limit_the_first_mazes_do_not_count(seed: int):
    made = make_random("bmru", seed, size=3)
    made[0]["policy.output.weight"] *= np.float32(0.2)  # so that nothing is rare
    made[0]["policy.output.bias"] *= np.float32(0.2)
    chain = make_prover(made).make_chain(TABLES[0])
    assert chain is not None
    assert chain.average([10**7])[0] == pytest.approx(chain.find_limit(), abs=1e-6)


def test_what_is_lost_by_a_rare_action_is_lost_in_the_limit():
    """A wait at the junction, which hardly ever happens, sets the table's unit for good."""
    arrays, shape = remember_by_hand()
    arrays["policy.cell.inputs.weight"][0, 0, 4] = 2  # the flag says that the first entry is +
    arrays["policy.cell.inputs.weight"][0, 0, 2:4] = -2  # but not where an index is seen, too
    arrays["policy.cell.inputs.bias"][0, 0] = 0
    chain = make_prover((arrays, shape), lengths=(1,)).make_chain((-1, 1))
    assert chain is not None
    early, late = chain.average([1])[0], chain.find_limit()
    assert early == pytest.approx(1 / (1 + np.exp(-1)), abs=3e-2)
    assert late == pytest.approx(1 - early, abs=3e-2)


def test_who_remembers_by_hand_is_right_as_often_as_it_samples_the_right_arm():
    prover = make_prover(remember_by_hand())
    # Logits of the arms are 0 and ±1, whatever came before.
    expected = 1 / (1 + np.exp(-1))
    for table in TABLES:
        assert prover.decide(table)["any"].sampled_share == pytest.approx(expected, abs=1e-9)


def test_what_is_counted_on_is_said():
    prover = make_prover(remember_by_hand())
    found = tuple(it for table in TABLES for it in prover.decide(table).values())
    assert found[-1].limit_share == pytest.approx(1 / (1 + np.exp(-1)), abs=1e-9)
    *_, (_, sentences) = explain_mazes(MazeCertificate({}, {}, {}, found))
    assert sentences[-1] == (
        "Sampling all its actions, it decides right in 73.1% of 10,000 mazes, and in 73.1% in the "
        "limit of ever more mazes."
    )
