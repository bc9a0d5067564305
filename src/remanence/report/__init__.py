"""One page for people: what a study ran, its figures, the paper's claims beside ours."""

import importlib

from remanence.report._claims import Claim as Claim
from remanence.report._claims import Finding as Finding
from remanence.report._claims import claims as claims
from remanence.report._claims import judge_claims as judge_claims
from remanence.report._page import write_report as write_report
from remanence.report._records import Records as Records
from remanence.report._records import read_records as read_records
from remanence.report._tables import derive_tables as derive_tables

# Each section of the paper registers its claims when it is imported, so their order is this one.
for _section in ("learning", "outcomes", "stability", "long", "parallelizable", "deep"):
    importlib.import_module(f"remanence.report._claims_{_section}")
