"""One page for people: what a study ran, its figures, the paper's claims beside ours."""

from remanence.report._claims import Claim as Claim
from remanence.report._claims import Finding as Finding
from remanence.report._claims import claims as claims
from remanence.report._claims import judge_claims as judge_claims
from remanence.report._page import write_report as write_report
from remanence.report._records import Records as Records
from remanence.report._records import read_records as read_records
from remanence.report._tables import derive_tables as derive_tables
