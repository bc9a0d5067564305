import pytest

from remanence.report import _resampling


@pytest.fixture(autouse=True)
def few_studies(monkeypatch):
    """Next to no studies are drawn to see how sure verdicts are; one test counts for itself."""
    monkeypatch.setattr(_resampling, "NUM_STUDIES", 3)
