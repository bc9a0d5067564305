"""Tables over all jobs of a study, as DuckDB relations on its files."""

from pathlib import Path
from typing import TYPE_CHECKING

from remanence.errors import StoreError, UnknownNameError
from remanence.study._directory import StudyDirectory
from remanence.study._plan import Job

if TYPE_CHECKING:
    import duckdb

TABLES = ("outcomes", "evaluations", "stability", "certificates", "curves")

_OUTCOMES = """
select preset, network, cell, seed, length, avg("return") as "return",
  case when bool_or("end" = 'timeout') then 'timeout'
       when bool_or("end" = 'wrong') then 'random' else 'solved' end as outcome,
  avg(num_steps) as num_steps
from ({evaluations}) group by all order by all
"""


def load_results(path: str | Path, table: str = "evaluations") -> "duckdb.DuckDBPyRelation":
    """A table of the study in a directory, as far as there is one.

    `evaluations` has a row for each episode, `outcomes` for each agent and length, `stability` and
    `certificates` for each agent, `curves` for each seed and iteration. `.fetchnumpy()`, `.df()`,
    `.pl()` or `.arrow()` of the relation turn it into columns of those libraries, and `.filter`,
    `.aggregate` and the rest query it.
    """
    import duckdb  # slow to import, and needed by few

    if table not in TABLES:
        raise UnknownNameError("table", table, TABLES)
    directory = StudyDirectory(Path(path))
    stored = "evaluations" if table == "outcomes" else table
    jobs = directory.read_study().jobs
    found = [job for job in jobs if directory.table_path(stored, job).exists()]
    if not found:
        remedy = "run the study, or wait for its first job"
        raise StoreError(directory.path, f"there are no {stored} yet", remedy)
    query = " union all by name ".join(_select(directory, stored, job) for job in found)
    if table == "outcomes":
        query = _OUTCOMES.format(evaluations=query)
    try:
        return duckdb.connect().sql(query)
    except duckdb.Error as error:
        problem = f"a table cannot be read ({error})"
        raise StoreError(directory.path, problem, "remove that file and run the study") from error


def _select(directory: StudyDirectory, table: str, job: Job) -> str:
    source = f"from read_parquet({_quote(str(directory.table_path(table, job)))})"
    if table != "curves":
        return f"select * {source}"
    labels = {"preset": job.preset, "network": job.network, "cell": job.cell}
    columns = ", ".join(f"{_quote(label)} as {name}" for name, label in labels.items())
    return f"select {columns}, * {source}"


def _quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
