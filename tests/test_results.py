"""The results that the repository shows."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "docs" / "results" / "tmaze"
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_readme_shows_the_claims_of_the_report():
    claims = (RESULTS / "claims.md").read_text(encoding="utf-8")
    assert claims in README
    report = (RESULTS / "report.html").read_text(encoding="utf-8")
    for verdict in ("agrees", "disagrees", "not tested at this size"):
        assert len(re.findall(rf"\*\*{verdict}\*\* \|$", claims, re.MULTILINE)) == report.count(
            f">{verdict}</td>"
        )


def test_every_picture_and_file_that_pages_link_to_is_there():
    for page in (ROOT / "README.md", RESULTS / "README.md", ROOT / "examples/agents/README.md"):
        text = page.read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)#]+)\)", text):
            if not target.startswith("http"):
                assert (page.parent / target).exists(), f"{page}: {target}"


def test_results_are_small():
    assert sum(file.stat().st_size for file in RESULTS.rglob("*") if file.is_file()) < 10e6
