import pytest


@pytest.fixture(autouse=True)
def _few_studies(few_studies):
    """One test counts for itself."""
