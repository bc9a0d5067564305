"""Where everything of a study is: files only, each written whole by one process.

study.json           the plan, and what it was begun with
runs/<job>/          a run as `remanence train` writes it, with all that is known of its agents
status/<job>.json    how far the job is
slurm/               what was submitted to a cluster, and the logs of what is not done
cancelled            there if nobody is to go on with it, until the study is run again
"""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from remanence.errors import RemanenceError, StoreError
from remanence.store import (
    describe_machine,
    describe_process,
    find_commit,
    find_difference,
    read_json,
    remove_leftovers,
    write_json,
    write_text,
)
from remanence.study._older import list_older_tables
from remanence.study._plan import Job, Study
from remanence.study._records import CERTIFICATES, AgentRecords
from remanence.study._shards import adopt_additions, describe_whole, forgo_choices
from remanence.study._stages import name_tables
from remanence.training import RunDirectory, read_hashes

FORMAT = 1


@dataclasses.dataclass(frozen=True)
class StudyDirectory:
    """Knows the files of one study.

    >>> from pathlib import Path
    >>> from remanence import study
    >>> job = study.Job("gru", "lookup-tree-maze", "small", "gru", [1, 2], 250, lengths=[2, 100])
    >>> plan = study.Study("recall", "tiny", "Two seeds show nothing.", [job])
    >>> directory = study.StudyDirectory(Path("study"))
    >>> directory.begin(plan) == directory.read_study() == plan
    True
    >>> directory.read_description()["name"]
    'recall'
    >>> directory.open_run(job).path.as_posix(), directory.open_records(job).path.as_posix()
    ('study/runs/gru', 'study/runs/gru')
    >>> directory.status_path(job).as_posix(), directory.lock_path(job).as_posix()
    ('study/status/gru.json', 'study/.locks/gru')
    >>> directory.remove_leftovers(job)
    >>> directory.has_results(job)
    False
    >>> directory.set_cancelled(True)
    >>> directory.cancelled
    True
    """

    path: Path

    def __post_init__(self):
        object.__setattr__(self, "path", Path(self.path))
        try:
            str(self.path).encode()
        except UnicodeEncodeError as error:
            shown = repr(self.path.as_posix())
            raise StoreError(shown, "its name is not UTF-8", "choose another one") from error

    def begin(
        self,
        study: Study,
        command: Sequence[str] | None = None,
        rules: Mapping[str, str] | None = None,
    ) -> Study:
        """Write the plan of a held directory, and return it; and by which rules it is judged.

        One that is there must be the same but for its note, for how its seeds are split into jobs,
        which stays as it was begun, and for what is added to it: trainings, and stages that come
        after those that it has. Where the software has changed since, that is written down.
        """
        now = {**describe_process(command), "commit": find_commit(), "machine": describe_machine()}
        now |= {"rules": dict(rules)} if rules else {}
        _remove_parts(self._description)
        if not self._description.exists():
            self._refuse_leftovers()
            write_json(self._description, {"format": FORMAT, **study.to_json(), **now})
            return study
        found, begun = self.read_description(), self.read_study()
        study = forgo_choices(begun, study)
        begun = adopt_additions(begun, study)
        difference = find_difference("study", describe_whole(begun), describe_whole(study))
        if difference:
            raise StoreError(
                self._description,
                f"a different study was started here: {difference}",
                "repeat its settings, or choose another directory",
            )
        goes_on = found.get("continued", [])
        last = [found, *goes_on][-1]
        if any(last.get(name) != now[name] for name in ("versions", "commit", "python")):
            goes_on = [*goes_on, now]
        told = found | {"jobs": begun.to_json()["jobs"]}
        told |= {"continued": goes_on} if goes_on else {}
        if told != found:
            write_json(self._description, told)
        return begun

    def _refuse_leftovers(self) -> None:
        """What is there without a plan may be of any, and must not pass as this one's."""
        for name in ("runs", "status", "evaluations", "stability", "certificates"):
            if (self.path / name).exists():
                problem = (
                    f"this directory holds {name} of a study, but its plan (study.json) is missing"
                )
                remedy = "restore the file or choose another directory"
                raise StoreError(self.path, problem, remedy)

    def read_description(self) -> dict[str, Any]:
        """The contents of study.json."""
        if not self._description.exists():
            raise StoreError(self.path, "there is no study here", "check the path")
        found = read_json(self._description)
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise StoreError(
                self._description,
                "this version cannot read this study",
                "use the version that wrote it",
            )
        return found

    def read_study(self) -> Study:
        """The plan that the study was begun with."""
        found = self.read_description()
        try:
            return Study.from_json(found)
        except (KeyError, TypeError, RemanenceError) as error:
            problem = f"its plan cannot be read ({error})"
            raise StoreError(self._description, problem, "restore it from a copy") from error

    def open_run(self, job: Job) -> RunDirectory:
        """The run of a job."""
        return RunDirectory(self.path / "runs" / job.id)

    def open_records(self, job: Job) -> AgentRecords:
        """What is known of a job's agents: all of it is in the job's run."""
        return AgentRecords(self.open_run(job).path, list_older_tables(self.path, job.id))

    def status_path(self, job: Job) -> Path:
        """What a job tells of itself."""
        return self.path / "status" / f"{job.id}.json"

    def lock_path(self, job: Job) -> Path:
        """The directory that is held while a job runs; not the run's, which training holds."""
        return self.path / ".locks" / job.id

    @property
    def cluster_path(self) -> Path:
        """What was submitted to a cluster."""
        return self.path / "slurm"

    @property
    def cancelled(self) -> bool:
        """Whether somebody has cancelled the study since it was last run."""
        return self._cancellation.exists()

    def set_cancelled(self, cancelled: bool) -> None:
        """Tell whoever works on the study to stop, or that it is taken up again."""
        if cancelled:
            write_text(self._cancellation, "")
        else:
            self._cancellation.unlink(missing_ok=True)

    def has_results(self, job: Job) -> bool:
        """Whether all that a job makes is there."""
        run, records = self.open_run(job), self.open_records(job)
        known = read_hashes(run.path)  # of agents that an archive left out
        files = [run.curves_path, *(run.agent_path(it) for it in job.seeds if it not in known)]
        if "certify" in job.stages:
            files += [records.certificate_path(seed) for seed in job.seeds]
        return all(file.exists() for file in files) and records.has(*name_tables(job.stages))

    def remove_leftovers(self, job: Job) -> None:
        """Remove the temporary files that an earlier attempt at a held job left."""
        run = self.open_run(job).path
        remove_leftovers(run / CERTIFICATES)
        for file in (*run.glob("*.parquet"), self.status_path(job)):
            _remove_parts(file)

    @property
    def _cancellation(self) -> Path:
        return self.path / "cancelled"

    @property
    def _description(self) -> Path:
        return self.path / "study.json"


def _remove_parts(file: Path) -> None:
    for leftover in file.parent.glob(f".{file.name}.*.part"):
        leftover.unlink(missing_ok=True)
