"""What can be asked of trained agents, each thing once: for a command and for a study alike.

Every stage reads agents, and writes what it finds out as tables of their run.
"""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from remanence._registry import Registry
from remanence.certificates import (
    BUDGET,
    Certificate,
    Limit,
    Radius,
    can_certify,
    can_find_limits,
    certify,
    find_limits,
    find_radius,
    make_radius_row,
)
from remanence.certificates.mazes import (
    MazeRadius,
    can_certify_mazes,
    find_maze_radius,
    make_maze_radius_rows,
)
from remanence.dynamics import list_cycle
from remanence.envs import AbstractEnvironment
from remanence.evaluation import (
    Evaluation,
    evaluate,
    make_idle_map,
    measure_stability,
    name_stability,
)
from remanence.networks import Agent
from remanence.study._records import AgentGroup
from remanence.study._rows import Columns, collect_rows

if TYPE_CHECKING:
    from remanence.study._plan import Job

# Of each agent's memory so much is kept for figures.
ORBIT_STEPS = 100
ORBIT_UNITS = 8

OnAgent = Callable[[int, int], Any]


def _ignore(number: int, total: int) -> None:
    del number, total


@dataclasses.dataclass(frozen=True)
class Stage:
    """Something that a study asks of the agents of every job.

    `run(group, job, on_agent)` writes the `tables` into `group.records`; `on_agent` is told how
    many agents are done, of how many. `supports` says of which environments it can be asked.
    `optional_tables` are written before the others, where there is anything to write.

    >>> from remanence import envs, study
    >>> study.stages["certify"].tables, study.stages["certify"].supports(envs.LookupTreeMaze())
    (('certificates',), False)
    """

    doing: str
    tables: tuple[str, ...]
    run: Callable[[AgentGroup, "Job", OnAgent], Any]
    supports: Callable[[AbstractEnvironment], bool] = lambda environment: True
    optional_tables: tuple[str, ...] = ()

    @property
    def written(self) -> tuple[str, ...]:
        return (*self.tables, *self.optional_tables)


stages: Registry[Stage] = Registry("stage")
register_stage = stages.register


def name_tables(asked: Iterable[str]) -> list[str]:
    """The tables of some stages; of a stage that only its author has, one cannot know."""
    return [table for name in asked if name in stages for table in stages[name].tables]


def list_agents(group: AgentGroup, on_agent: OnAgent) -> Iterator[tuple[int, Agent, OnAgent]]:
    """Agents by seed, each with what is told how many of its parts are done, of how many."""
    for number, (seed, agent) in enumerate(group.agents.items()):

        def on_part(done: int, total: int, number: int = number) -> None:
            on_agent(number * total + done, len(group.agents) * total)

        yield seed, agent, on_part


def evaluate_agents(
    group: AgentGroup,
    lengths: Any = None,
    *,
    sampled: bool = False,
    num_episodes: int | None = None,
    plain: bool = False,
    on_agent: OnAgent = _ignore,
) -> Evaluation:
    """Run agents at values of what grows; writes every episode, and the outcome at each value.

    Where some episode has more than one decision, also how many are right against how many were
    taken before.

    >>> from pathlib import Path
    >>> from remanence import study, training
    >>> group = study.open_group(training.RunDirectory(Path("examples/agents/mingru")))
    >>> study.evaluate_agents(group, [2, 100]).summarize()["outcome"].tolist()
    ['solved', 'random']
    >>> group.records.has("evaluations", "outcomes")
    True
    """
    found = evaluate(
        group.agents,
        group.env,
        lengths,
        sampled=sampled,
        num_episodes=num_episodes,
        plain=plain,
        on_progress=on_agent,
    )
    for table, columns in _list_evaluated(group, found, "sampled_" if sampled else ""):
        named = {"seed" if name == "agent" else name: it for name, it in columns.items()}
        group.records.update(table, named, group.weights)
    return found


def _list_evaluated(
    group: AgentGroup, found: Evaluation, prefix: str
) -> Iterator[tuple[str, Columns]]:
    # Those that an earlier evaluation wrote would be of other episodes.
    if found.decisions and (found.decides_often or group.records.has(f"{prefix}decisions")):
        yield f"{prefix}decisions", found.decisions
    yield f"{prefix}evaluations", found.episodes
    yield f"{prefix}outcomes", found.summarize()


def measure_agents(group: AgentGroup, *, on_agent: OnAgent = _ignore) -> dict[int, str]:
    """Measure how stable memories are, and keep how they begin to settle; returns names by seed.

    >>> from pathlib import Path
    >>> from remanence import study, training
    >>> group = study.open_group(training.RunDirectory(Path("examples/agents/mingru")))
    >>> study.measure_agents(group)
    {1: 'monostable'}
    >>> group.records.read("orbits")["step"].max().item()
    99
    """
    environment, _ = group.env
    rows, orbits, names = [], [], {}
    for seed, agent, on_part in list_agents(group, on_agent):
        vaa = measure_stability(agent, environment)
        names[seed] = name_stability(vaa)
        found = {"vaa": vaa.value, "vaa_limit": vaa.limit, "settled": vaa.settled}
        rows.append({"seed": seed, **found, "stability": names[seed]})
        orbits.append(_follow(seed, *make_idle_map(agent, environment)))
        on_part(1, 1)
    group.records.update("stability", collect_rows(rows), group.weights)
    joined = {name: np.concatenate([part[name] for part in orbits]) for name in orbits[0]}
    group.records.update("orbits", joined, group.weights)
    return names


def _follow(seed: int, step: Any, starts: np.ndarray) -> Columns:
    """The first steps of a memory after each cue, as rows of a table."""
    orbits = np.stack([list_cycle(step, start, ORBIT_STEPS) for start in starts])
    orbits = orbits[..., :ORBIT_UNITS]
    cues, steps, units = (index.ravel() for index in np.indices(orbits.shape))
    seeds = np.full(orbits.size, seed)
    return {"seed": seeds, "cue": cues, "step": steps, "unit": units, "state": orbits.ravel()}


def certify_agents(
    group: AgentGroup,
    *,
    budget: int = BUDGET,
    out: Path | None = None,
    on_agent: OnAgent = _ignore,
) -> dict[int, Certificate]:
    """Settle all lengths for each agent, and write certificates; returns them by seed.

    With `out`, certificates alone are written, and to that directory.

    >>> from pathlib import Path
    >>> from remanence import study, training
    >>> group = study.open_group(training.RunDirectory(Path("examples/agents/mingru")))
    >>> print(study.certify_agents(group)[1].compiled.solved.lengths)
    lengths 1 to 13
    >>> group.records.list_certified()
    [1]
    """
    made = {}
    for seed, agent, on_part in list_agents(group, on_agent):
        made[seed] = certify(agent, group.env, budget=budget)
        path = group.records.certificate_path(seed)
        made[seed].save(out / path.name if out else path)
        on_part(1, 1)
    if out is None:
        _tabulate_certificates(group)
    return made


def _certify_rest(group: AgentGroup, job: "Job", on_agent: OnAgent) -> None:
    """Certify the agents that have no certificate yet: each may take long."""
    for seed, agent, on_part in list_agents(group, on_agent):
        path = group.records.certificate_path(seed)
        if not path.exists():
            certify(agent, group.env, budget=job.budget).save(path)
        on_part(1, 1)
    _tabulate_certificates(group)


def _tabulate_certificates(group: AgentGroup) -> None:
    columns = group.records.tabulate_certificates(list(group.agents))
    group.records.update("certificates", columns, group.weights)


def find_agent_limits(group: AgentGroup, *, on_agent: OnAgent = _ignore) -> dict[int, list[Limit]]:
    """What agents that sample come to in corridors without end, by seed and cue by cue.

    >>> from pathlib import Path
    >>> from remanence import study, training
    >>> group = study.open_group(training.RunDirectory(Path("examples/agents/mingru")))
    >>> [round(limit.right, 3) for limit in study.find_agent_limits(group)[1]]
    [0.719, 0.281]
    >>> group.records.read("sampled_limits")["cue"].tolist()
    [0, 1]
    """
    found = {}
    for seed, agent, on_part in list_agents(group, on_agent):
        found[seed] = find_limits(agent, group.env)
        on_part(1, 1)
    rows = [{"seed": seed, **it._asdict()} for seed, limits in found.items() for it in limits]
    group.records.update("sampled_limits", collect_rows(rows), group.weights)
    return found


def find_agent_radii(
    group: AgentGroup,
    *,
    walk: str | None = None,
    lengths: Sequence[int] | None = None,
    on_agent: OnAgent = _ignore,
) -> dict[int, Radius | MazeRadius]:
    """How much disturbance agents survive for ever; writes evidence for each, and a table.

    Of agents in rows of mazes, a way of walking and lengths of mazes may be chosen, and `on_agent`
    is told how many tables of all agents are done.

    >>> from pathlib import Path
    >>> from remanence import study, training
    >>> group = study.open_group(training.RunDirectory(Path("examples/agents/mingru")))
    >>> study.find_agent_radii(group)[1].certified
    0.0
    >>> group.records.read("radii")["radius_broken"].tolist()
    [0.0]
    """
    found, rows = {}, []
    in_a_row = can_certify_mazes(group.env[0])
    for seed, agent, on_part in list_agents(group, on_agent):
        if in_a_row:
            options = {"walk": walk, "lengths": lengths, "on_table": on_part}
            found[seed] = find_maze_radius(agent, group.env, **options)
        else:
            found[seed] = find_radius(agent, group.env)
            on_part(1, 1)
        found[seed].save(group.records.radius_path(seed))
        told = found[seed].to_json()
        made = make_maze_radius_rows(told) if in_a_row else [make_radius_row(told)]
        rows += [{"seed": seed, **row} for row in made]
    group.records.update("radii", collect_rows(rows), group.weights)
    return found


def _has_cues(environment: AbstractEnvironment) -> bool:
    found = (environment.cue_observations(), environment.idle_observation())
    return all(it is not None for it in found)


register_stage(
    "evaluate",
    Stage(
        "evaluating",
        ("evaluations", "outcomes"),
        lambda group, job, on_agent: evaluate_agents(group, job.lengths, on_agent=on_agent),
        optional_tables=("decisions",),
    ),
)
register_stage(
    "sample",
    Stage(
        "evaluating with sampled actions",
        ("sampled_evaluations", "sampled_outcomes"),
        lambda group, job, on_agent: evaluate_agents(
            group, job.list_lengths(sampled=True), sampled=True, on_agent=on_agent
        ),
        optional_tables=("sampled_decisions",),
    ),
)
register_stage(
    "stability",
    Stage(
        "measuring stability",
        ("stability", "orbits"),
        lambda group, job, on_agent: measure_agents(group, on_agent=on_agent),
        supports=_has_cues,
    ),
)
register_stage(
    "limits",
    Stage(
        "finding limits of sampled agents",
        ("sampled_limits",),
        lambda group, job, on_agent: find_agent_limits(group, on_agent=on_agent),
        supports=can_find_limits,
    ),
)
register_stage(
    "radius",
    Stage(
        "finding radii",
        ("radii",),
        lambda group, job, on_agent: find_agent_radii(group, on_agent=on_agent),
        supports=lambda environment: can_certify(environment) or can_certify_mazes(environment),
    ),
)
register_stage(
    "certify", Stage("certifying", ("certificates",), _certify_rest, supports=can_certify)
)
