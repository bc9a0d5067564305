"""Errors keep their kind and their message when they come from another process."""

import pickle

import pytest

from remanence.errors import (
    InvalidOptionError,
    MissingDependencyError,
    MissingMethodError,
    RemanenceError,
    StoreError,
    UnknownNameError,
)

ERRORS = [
    InvalidOptionError("width", 0, "use 1 or more"),
    MissingDependencyError("rendering", "pygame", "render"),
    MissingMethodError("Recall", "judge", "which evaluation needs"),
    RemanenceError("plain"),
    StoreError("/nowhere", "cannot be used", "check the path"),
    UnknownNameError("cell", "gruu", ["gru"]),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_survives_pickling(error):
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
