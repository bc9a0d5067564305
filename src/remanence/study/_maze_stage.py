"""The stage that certifies agents for every sequence of mazes, however many."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from remanence.certificates.mazes import (
    BUDGET,
    MazeCertificate,
    can_certify_mazes,
    certify_mazes,
    make_maze_rows,
    read_maze_certificate,
)
from remanence.study._records import AgentGroup
from remanence.study._rows import collect_rows
from remanence.study._stages import OnAgent, Stage, list_agents, register_stage

if TYPE_CHECKING:
    from remanence.study._plan import Job

# A hybrid that is neither proved nor refuted soon would take minutes, of which a study has many.
STUDY_BUDGET = BUDGET // 10


def certify_maze_agents(
    group: AgentGroup,
    *,
    lengths: Sequence[int] | None = None,
    budget: int = BUDGET,
    out: Path | None = None,
    on_agent: OnAgent = lambda number, total: None,
) -> dict[int, MazeCertificate]:
    """Settle every sequence of mazes for each agent, and write certificates; returns them by seed.

    With `out`, certificates alone are written, and to that directory. `on_agent` is told how many
    tables of all agents are done.

    >>> from pathlib import Path
    >>> from remanence import envs, networks, study
    >>> architecture = networks.Architecture(cell="bmru", state_size=2, head=[])
    >>> policy = networks.make_policy(architecture, 4, 4, key=jax.random.key(0))
    >>> value = networks.make_value(architecture, 4, key=jax.random.key(1))
    >>> agents = {1: networks.Agent(policy, value, architecture)}
    >>> env = envs.make("lookup-tree-maze", table_size=2)
    >>> group = study.AgentGroup(agents, env, {1: "4f2a"}, study.AgentRecords(Path("run")))
    >>> study.certify_maze_agents(group)[1].judge("any")
    'refuted'
    >>> group.records.read("maze_certificates")["table"].tolist()
    ['+-', '+-', '+-', '-+', '-+', '-+']
    """
    made = {}
    for seed, agent, on_table in list_agents(group, on_agent):
        made[seed] = certify_mazes(
            agent, group.env, lengths=lengths, budget=budget, on_table=on_table
        )
        path = group.records.maze_certificate_path(seed)
        made[seed].save(out / path.name if out else path)
    if out is None:
        _tabulate(group)
    return made


def _certify_rest(group: AgentGroup, job: "Job", on_agent: OnAgent) -> None:
    """Certify the agents that have no certificate yet.

    What stays undecided, `remanence certify` may settle with its larger budget.
    """
    del job  # whose budget counts steps
    for seed, agent, on_part in list_agents(group, on_agent):
        path = group.records.maze_certificate_path(seed)
        if not path.exists():
            certify_mazes(agent, group.env, budget=STUDY_BUDGET).save(path)
        on_part(1, 1)
    _tabulate(group)


def _tabulate(group: AgentGroup) -> None:
    paths = {seed: group.records.maze_certificate_path(seed) for seed in group.agents}
    rows = [
        {"seed": seed, **row}
        for seed, path in paths.items()
        for row in make_maze_rows(read_maze_certificate(path))
    ]
    group.records.update("maze_certificates", collect_rows(rows), group.weights)


register_stage(
    "certify-mazes",
    Stage(
        "certifying every sequence of mazes",
        ("maze_certificates",),
        _certify_rest,
        supports=can_certify_mazes,
    ),
)
