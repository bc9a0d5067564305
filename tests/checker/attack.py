"""Agents made to be certified wrongly, for as long as you like.

    python -m tests.checker.attack --agents 1000000 --out attack.json

Each agent is certified and its certificate checked; what is claimed is compared with plain stepping
of the compiled program and of the portable one, and forged certificates of it are handed to the
checker. It prints a tally as it goes, and writes it to a file from time to time. The exit code is 1
if anything false was certified or verified.
"""

import collections
import copy
import dataclasses
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import numpy as np
import tyro

from benchmarks._record import write_record
from remanence import checker, envs
from remanence.certificates import Certificate, Findings, LengthSet, certify
from remanence.envs import AbstractEnvironment
from remanence.evaluation import evaluate
from remanence.networks import Agent, Architecture, make_policy, make_value
from remanence.portable import PortablePolicy
from tests.certificates import high_precision as precise
from tests.certificates.agents import CELLS, load_walker, make_agent

EVERY_LENGTH = {"listed": 1, "period": 1, "runs": [[1, 1]]}
EXAMPLES = Path(__file__).parents[2] / "examples" / "agents"
KINDS = ("random", "perturbed", "walker", "latch", "leak", "holder", "tie", "network")
Environment = tuple[AbstractEnvironment, Any]


@dataclasses.dataclass
class Options:
    """What to attack with."""

    agents: int = 100
    """How many agents."""
    seed: int = 0
    """Agents are drawn from this seed and their number, so that each can be made again."""
    budget: int = 2_000
    """Steps for which an orbit is followed; ten times that for every tenth agent."""
    forgeries: int = 3
    """Forged certificates of each agent."""
    minutes: float | None = None
    """Stop after so many minutes."""
    out: Path = Path("attack.json")
    """Where the tally is written."""


class FalseCertificateError(AssertionError):
    """Something was claimed, or verified, that is not so."""


def draw(rng: np.random.Generator, kind: str, directory: Path) -> tuple[Agent, Environment]:
    """An agent of a kind, and the maze it is tried in."""
    limit = [1, 2, 10, 10, None][rng.integers(5)]
    previous = kind in ("random", "walker") and bool(rng.integers(2))
    env = envs.make("tmaze", previous_action=previous, time_limit_factor=limit)
    cell = CELLS[rng.integers(len(CELLS))]
    seed = int(rng.integers(2**31))
    near = rng.uniform(-1, 1) * 2.0 ** -rng.integers(0, 30)
    match kind:
        case "random":
            return make_agent(cell, seed, previous, float(rng.choice([0.5, 1, 3]))), env
        case "perturbed":
            return perturb(rng), env
        case "network":
            return draw_network(rng, cell), env
        case "walker":
            walker = precise.make_walker(cell, seed, float(rng.uniform(0.5, 5)), 4, previous)
        case "latch":
            cell = ("gru", "lstm", "brc", "nbrc")[rng.integers(4)]
            walker = precise.make_latch(cell, near, float(1 + rng.choice([near, 0.9])))
        case "leak":
            # It turns at a length between ten and a million.
            walker = precise.make_leak(float(rng.uniform(2, 14)), rng.uniform(-1, 1), near)
        case "holder":
            walker = precise.make_holder(0.5 + near, 0.5)
        case _:
            arrays, architecture = precise.make_walker(cell, seed)
            one, other = rng.choice(4, 2, replace=False)
            for name in ("policy.output.weight", "policy.output.bias"):
                arrays[name][one] = arrays[name][other]
            walker = arrays, architecture
    return load_walker(walker, directory, 6 if previous else 2), env


def draw_network(rng: np.random.Generator, cell: str) -> Agent:
    """A random agent of one or two layers, with an encoder and perhaps a skip connection."""
    width = 4
    architecture = Architecture(
        cell=cell,
        state_size=2 * width if cell == "lstm" else width,
        num_layers=int(rng.integers(1, 3)),
        encoder=(width,),
        head=(5,) * int(rng.integers(2)),
        skip=bool(rng.integers(4)),
    )
    key = jax.random.key(int(rng.integers(2**31)))
    policy = make_policy(architecture, 2, 4, key=key)
    weights, rest = eqx.partition(policy, eqx.is_inexact_array)
    gain = float(rng.choice([0.5, 1, 3]))
    drawn = jax.tree.map(
        lambda leaf: gain * np.asarray(rng.normal(size=leaf.shape), np.float32), weights
    )
    value = make_value(architecture, 2, key=key)
    return Agent(eqx.combine(drawn, rest), value, architecture)


def perturb(rng: np.random.Generator) -> Agent:
    """A trained agent with noise on all its weights, small or not so small."""
    files = sorted(EXAMPLES.glob("*/agents/*.safetensors"))
    agent = Agent.load(files[rng.integers(len(files))])
    size = 10.0 ** rng.uniform(-4, 0)
    weights, rest = eqx.partition(agent.policy, eqx.is_inexact_array)
    noisy = jax.tree.map(
        lambda leaf: leaf + size * np.asarray(rng.normal(size=leaf.shape), np.float32), weights
    )
    return dataclasses.replace(agent, policy=eqx.combine(noisy, rest))


def demand(holds: bool, what: str) -> None:
    """Raise if something false was certified or verified."""
    if not holds:
        raise FalseCertificateError(what)


def list_suspects(rng: np.random.Generator, findings: Findings, longest: int) -> list[int]:
    """Lengths at which a claim would be wrong if it were: first ones, edges, and some at random."""
    suspects = {1, 2, 3, *np.geomspace(4, longest, 6).astype(int).tolist()}
    suspects |= set(rng.integers(1, longest, 3).tolist())
    for horizons in (findings.solved, findings.optimal):
        if horizons.lengths is not None:
            edges = [end for run in horizons.lengths.list_runs()[:20] for end in run]
            suspects |= {edge + step for edge in edges for step in (-1, 0, 1)}
            suspects.add(len(horizons.lengths.listed) + horizons.lengths.period)
    return sorted(length for length in suspects if 1 <= length <= longest)


def compare_compiled(agent: Agent, env: Environment, findings: Findings, lengths: list[int]):
    """What is claimed of the compiled program against stepping it plainly."""
    found = evaluate(agent, env, lengths, plain=True).episodes
    right = (found["end"] == "right").reshape(-1, 2).all(axis=1)
    quick = found["num_steps"].reshape(-1, 2).max(axis=1) == lengths
    compare("compiled", findings, lengths, right, right & quick)


def compare_portable(agent: Agent, env: Environment, findings: Findings, lengths: list[int]):
    """The same for the portable program, played by its `act`."""
    policy = agent.make_portable()
    factor, sees = int(env[1].limit_factor), agent.policy.observation_size == 6
    steps = np.array([[play(policy, cue, n, factor * n, sees) for cue in (-1, 1)] for n in lengths])
    right = np.all(steps > 0, axis=1)
    compare("portable", findings, lengths, right, right & (steps.max(axis=1) == lengths))


def play(policy: PortablePolicy, cue: int, length: int, limit: int, sees: bool) -> int:
    """The steps of an episode that ends in the goal's arm; 0 if it does not."""
    state, position, action = policy.initial_state(), 0, None
    for num_steps in range(1, limit + 1):
        seen = [cue if num_steps == 1 else 0, position == length - 1]
        seen += [action == number for number in range(4)] if sees else []
        action, state = policy.act(seen, state)
        if position == length - 1 and action in (1, 3):
            return num_steps if action == 2 + cue else 0
        position = min(max(position + {0: 1, 2: -1}.get(action, 0), 0), length - 1)
    return 0


def compare(
    name: str, findings: Findings, lengths: list[int], right: np.ndarray, best: np.ndarray
) -> None:
    for what, horizons, shown in (
        ("solved", findings.solved, right),
        ("optimal", findings.optimal, best),
    ):
        if horizons.lengths is not None:
            claimed = np.array([length in horizons.lengths for length in lengths])
            odd = [n for n, same in zip(lengths, claimed == shown, strict=True) if not same]
            demand(not odd, f"{name}: {what} at {odd[:3]} is not what stepping shows")


def list_forgeries(certificate: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Certificates that claim more, or something else, than this one does."""
    for part in ("portable", "contraction"):
        for name in ("optimal", "solved"):
            found = certificate[part] and certificate[part].get(name)
            if found is None:
                continue
            for forged in forge_lengths(found):
                changed = copy.deepcopy(dict(certificate))
                changed[part][name] = forged
                yield f"{part}.{name} = {forged}", changed


def forge_lengths(found: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Other sets of lengths: every one, none, one more, one less, more from somewhere on."""
    lengths = LengthSet.from_json(dict(found))
    more = np.concatenate([lengths.unfold(len(lengths.listed) + lengths.period), [True]])
    odd = lengths.listed.copy()
    odd[-1] ^= True
    late = np.concatenate([lengths.unfold(150_000), [False]])
    for forged in (
        LengthSet(np.array([True]), 1),
        LengthSet(np.array([False]), 1),
        LengthSet(more, 1),
        LengthSet(odd, lengths.period),
        LengthSet(late, 1),
    ):
        if forged != lengths:
            yield forged.to_json()


def attack(number: int, directory: Path, options: Options) -> dict[str, int]:
    """One agent: what was found, as counts."""
    rng, kind = np.random.default_rng([options.seed, number]), KINDS[number % len(KINDS)]
    budget = options.budget * (10 if number % 10 == 9 else 1)
    agent, env = draw(rng, kind, directory)
    agent_path, path = directory / "agent.safetensors", directory / "certificate.json"
    agent.save(agent_path)
    certificate = certify(agent, env, budget=budget)
    counts = compare_programs(rng, agent, env, certificate)
    written = certificate.to_json() | {"compiled": None}
    if not (written["portable"] or written["contraction"]):
        return counts | {"nothing to check": 1}
    path.write_text(json.dumps(written))
    report = checker.check(path, agent_path)
    counts[f"checked: {report.verdict}"] = 1
    demand(report.verdict != "refuted", f"an honest certificate is refuted: {report.statements}")
    forgeries = list(list_forgeries(written))
    for place in rng.permutation(len(forgeries))[: options.forgeries]:
        what, forged = forgeries[place]
        path.write_text(json.dumps(forged))
        verdict = checker.check(path, agent_path).verdict
        counts[f"forgeries {verdict}"] = counts.get(f"forgeries {verdict}", 0) + 1
        demand(verdict != "verified", f"a forgery is verified: {what}")
    return counts


def compare_programs(
    rng: np.random.Generator, agent: Agent, env: Environment, certificate: Certificate
) -> dict[str, int]:
    """Claims against plain stepping and against each other."""
    compiled, portable, proved = (
        certificate.compiled,
        certificate.portable,
        certificate.contraction.optimal,
    )
    if env[1].limit_factor:
        compare_compiled(agent, env, compiled, list_suspects(rng, compiled, 3_000))
        if portable is not None:
            compare_portable(agent, env, portable, list_suspects(rng, portable, 40))
    for name, findings in (("compiled", compiled), ("portable", portable)):
        if proved is not None and findings is not None and findings.optimal.lengths is not None:
            same = findings.optimal.lengths == proved
            demand(same, f"the proof says {proved}, the {name} program {findings.optimal.lengths}")
    counts = {f"compiled: {compiled.solved.verdict}": 1}
    counts[f"portable: {'none' if portable is None else portable.solved.verdict}"] = 1
    counts["proved" if proved is not None else "not proved"] = 1
    return counts


def main(options: Options) -> int:
    """Attack until all agents are through, or the time is up."""
    tally, false, begun = collections.Counter(), [], time.monotonic()
    with tempfile.TemporaryDirectory() as directory:
        for number in range(options.agents):
            if options.minutes and time.monotonic() - begun > 60 * options.minutes:
                break
            kind = KINDS[number % len(KINDS)]
            try:
                tally.update(attack(number, Path(directory), options))
            except FalseCertificateError as error:
                false.append({"number": number, "kind": kind, "problem": str(error)})
                print(f"FALSE: agent {number} ({kind}): {error}", flush=True)
            tally.update({"agents": 1, f"kind: {kind}": 1})
            if number % 50 == 49:
                record(options, tally, false, time.monotonic() - begun)
    record(options, tally, false, time.monotonic() - begun)
    return 1 if false else 0


def record(options: Options, tally: Mapping[str, int], false: list[Any], seconds: float) -> None:
    """Print the tally, and write it."""
    shown = ", ".join(f"{name} {count:,}" for name, count in sorted(tally.items()))
    print(f"{seconds:,.0f} s, {len(false)} false: {shown}", flush=True)
    packages = ("remanence", "jax", "jaxlib", "numpy")
    results = {"seconds": round(seconds), "false": false, "tally": dict(sorted(tally.items()))}
    write_record(options, packages, **results)


if __name__ == "__main__":
    sys.exit(main(tyro.cli(Options)))
