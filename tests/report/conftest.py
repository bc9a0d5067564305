import pytest


@pytest.fixture(autouse=True)
def _few_studies(few_studies):
    """One test counts for itself."""


@pytest.fixture(autouse=True)
def _coarse_sketch(coarse_sketch):
    """Pages are looked at, and not their pictures."""
