"""Tables over all jobs of a study, as DuckDB relations made from its files."""

from pathlib import Path
from typing import TYPE_CHECKING

from remanence.errors import StoreError, UnknownNameError
from remanence.store import quote, read_table, scan_table, seal_rows
from remanence.study._directory import StudyDirectory
from remanence.study._plan import Job

if TYPE_CHECKING:
    import duckdb

TABLES = ("summary", "outcomes", "evaluations", "stability", "certificates", "curves")

_OUTCOMES = """
select preset, network, cell, seed, length, avg("return") as "return",
  case when bool_or("end" = 'timeout') then 'timeout'
       when bool_or("end" = 'wrong') then 'random' else 'solved' end as outcome,
  avg(num_steps) as num_steps
from ({evaluations}) group by all order by all
"""

# In the files -1 stands for a span of every length, -2 for one that is undecided, and -1 for a step
# or length that there is none of.
_SPANS = ("solved_span", "optimal_span")
_STEPS = (
    *("first_failure", "first_waste", "merge"),
    *("transient_up", "transient_down", "period_up", "period_down"),
)
_CERTIFICATES = ", ".join(
    [f"if({name} = -1, 'inf'::double, nullif({name}, -2)::double) as {name}" for name in _SPANS]
    + [f"nullif({name}, -1) as {name}" for name in _STEPS]
)

# 100 is the length at which the paper counts outcomes.
_SUMMARY = """
select preset, network, cell, count(*) as agents,
  count(*) filter (stability = 'bistable') as bistable,
  if(count(outcome) > 0, count(*) filter (outcome = 'solved'), null) as solved_at_100,
  count(*) filter (solved_from_2_on) as solved_from_2_on,
  count(*) filter (solved = 'every length') as solved_at_every_length
from ({stability}) join ({certificates}) using (preset, network, cell, seed)
left join (from ({outcomes}) where length = 100) using (preset, network, cell, seed)
group by all order by preset desc, network desc, cell
"""


def load_results(path: str | Path, table: str = "evaluations") -> "duckdb.DuckDBPyRelation":
    """A table of the study in a directory, as far as there is one.

    `evaluations` has a row for each episode, `outcomes` for each agent and length, `stability` and
    `certificates` for each agent, `curves` for each seed and iteration, `summary` for each
    training. `.fetchnumpy()`, `.df()`, `.pl()` and `.arrow()` of the relation turn it into columns
    of NumPy, pandas, Polars and Arrow, as far as those are installed, and `.filter`, `.aggregate`
    and the rest query it. A span of every length is infinite; one that is undecided, and a step or
    length that there is none of, is null. A query of it reads no file, whoever wrote it.
    """
    import duckdb  # slow to import, and needed by few

    if table not in TABLES:
        raise UnknownNameError("table", table, TABLES)
    directory = StudyDirectory(Path(path))
    query = _write_query(directory, table)
    try:
        return seal_rows(query)
    except duckdb.Error as error:
        problem = f"its tables are not those of this version ({error})"
        raise StoreError(directory.path, problem, "use the version that wrote them") from error


def _write_query(directory: StudyDirectory, table: str) -> str:
    if table == "summary":
        parts = ("stability", "certificates", "outcomes")
        return _SUMMARY.format(**{part: _write_query(directory, part) for part in parts})
    if table == "outcomes":
        return _OUTCOMES.format(evaluations=_write_query(directory, "evaluations"))
    jobs = directory.read_study().jobs
    found = [job for job in jobs if directory.table_path(table, job).exists()]
    if not found:
        remedy = "run the study, or wait for its first job"
        raise StoreError(directory.path, f"there are no {table} yet", remedy)
    for job in found:
        read_table(directory.table_path(table, job))  # raises if it is damaged
    return " union all by name ".join(_select(directory, table, job) for job in found)


def _select(directory: StudyDirectory, table: str, job: Job) -> str:
    source = f"from {scan_table(directory.table_path(table, job))}"
    if table == "certificates":
        return f"select * replace ({_CERTIFICATES}) {source}"
    if table != "curves":
        return f"select * {source}"
    labels = {"preset": job.preset, "network": job.network, "cell": job.cell}
    columns = ", ".join(f"{quote(label)} as {name}" for name, label in labels.items())
    return f"select {columns}, * {source}"
