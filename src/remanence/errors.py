"""Errors that tell a user what was wrong, what was received and what to do about it."""

import difflib
from collections.abc import Iterable
from typing import Any


class RemanenceError(Exception):
    """Base of every error that remanence raises on purpose."""

    def __reduce__(self) -> tuple[Any, ...]:
        # By its message alone, as what it was made from is not kept; workers send errors home.
        return _restore, (type(self), str(self))


class InvalidOptionError(RemanenceError, ValueError):
    """An option has a value that cannot work."""

    def __init__(self, option: str, received: object, remedy: str):
        super().__init__(f"{option} = {received!r} is not possible: {remedy}.")


class UnknownNameError(RemanenceError, LookupError):
    """A name that nothing is known by; the message proposes the nearest known one.

    `listing` says what is known in a better order than that of the alphabet.
    """

    def __init__(self, kind: str, received: str, known: Iterable[str], listing: str | None = None):
        names = sorted(known)
        near = difflib.get_close_matches(str(received).lower(), names, n=1, cutoff=0.5)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        listing = listing or ", ".join(names)
        super().__init__(f"unknown {kind} {received!r}.{hint} Known: {listing}.")


class MissingDependencyError(RemanenceError, ImportError):
    """A feature needs a package that is installed only on request."""

    def __init__(self, feature: str, package: str, extra: str):
        super().__init__(
            f"{feature} needs the package {package!r}, which is not installed: "
            f"install it, or remanence with it: `pip install '.[{extra}]'` in a clone."
        )


class PluginError(RemanenceError, ImportError):
    """Code that was to plug in cannot be imported."""

    def __init__(self, source: str, cause: BaseException):
        told = f"{type(cause).__name__}: {cause}"
        super().__init__(
            f"{source} cannot be imported ({told}). Give a Python file, such as my_task.py, or the "
            "name of an installed module, and see that it runs by itself."
        )


class MissingMethodError(RemanenceError, NotImplementedError):
    """An environment of the user's own lacks a method that something asks it for."""

    def __init__(self, owner: str, method: str, need: str):
        super().__init__(
            f"{owner} does not define {method}, {need}: "
            f"write it as `remanence.envs.AbstractEnvironment.{method}` describes it."
        )


class StoreError(RemanenceError, OSError):
    """A file or directory cannot be read or written as it should; nothing there was changed."""

    problem: str = ""

    def __init__(self, path: object, problem: str, remedy: str):
        super().__init__(f"{path}: {problem}; {remedy}.")
        self.problem = problem


def _restore(kind: type[RemanenceError], message: str) -> RemanenceError:
    error = kind.__new__(kind, message)
    error.args = (message,)
    return error
