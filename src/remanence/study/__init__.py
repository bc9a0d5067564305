"""Many trainings as one study: planned, run, watched, and read back as tables."""

from remanence.study._directory import StudyDirectory as StudyDirectory
from remanence.study._estimate import Estimate as Estimate
from remanence.study._estimate import estimate as estimate
from remanence.study._estimate import estimate_seconds_left as estimate_seconds_left
from remanence.study._jobs import run_job as run_job
from remanence.study._plan import Job as Job
from remanence.study._plan import Study as Study
from remanence.study._profiles import list_profiles as list_profiles
from remanence.study._profiles import load_profile as load_profile
from remanence.study._results import TABLES as TABLES
from remanence.study._results import load_results as load_results
from remanence.study._runner import run_study as run_study
from remanence.study._status import JobStatus as JobStatus
from remanence.study._status import StudyStatus as StudyStatus
from remanence.study._status import read_status as read_status
from remanence.study._workers import open_workers as open_workers
