"""The claims that the repository shows follow from the tables that it shows."""

from remanence.papers.multistability.tmaze._tables import derive_tables
from remanence.papers.multistability.tmaze.claims import CLAIMS, _learning
from remanence.report import judge_claims
from tests.papers.multistability.tmaze.committed import RESULTS, read_committed


def test_committed_findings_are_found_again(tmp_path):
    findings = judge_claims(CLAIMS, derive_tables(read_committed(tmp_path)))
    listed = (RESULTS / "claims.md").read_text(encoding="utf-8").splitlines()[2:]
    # Learning curves are not committed, so claims about them cannot be judged again.
    assert len(listed) == len(CLAIMS)
    for (name, finding), row in zip(findings.items(), listed, strict=True):
        claim = CLAIMS[name]
        said = f"| {claim.sentence} ({claim.place}) | {claim.rule} |"
        assert row.startswith(said)
        if name not in _learning.CLAIMS:
            # How sure it is, takes a minute to find out.
            assert row.startswith(f"{said} {finding.ours} | ")
            assert row.endswith(f" | **{finding.verdict}** |")
