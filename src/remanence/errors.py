"""Errors that tell a user what was wrong, what was received and what to do about it."""

import difflib
from collections.abc import Iterable
from typing import Any


class RemanenceError(Exception):
    """Base of every error that remanence raises on purpose.

    >>> from remanence import envs, errors
    >>> try:
    ...     envs.make("lookup-tree-maze", length=0)
    ... except errors.RemanenceError as error:
    ...     print(type(error).__name__)
    InvalidOptionError
    """

    def __reduce__(self) -> tuple[Any, ...]:
        # By its message alone, as what it was made from is not kept; workers send errors home.
        return _restore, (type(self), str(self))


class InvalidOptionError(RemanenceError, ValueError):
    """An option has a value that cannot work.

    >>> from remanence import errors
    >>> print(errors.InvalidOptionError("length", 0, "use at least 1"))
    length = 0 is not possible: use at least 1.
    """

    def __init__(self, option: str, received: object, remedy: str):
        super().__init__(f"{option} = {received!r} is not possible: {remedy}.")


class UnknownNameError(RemanenceError, LookupError):
    """A name that nothing is known by; the message proposes the nearest known one.

    `listing` says what is known in a better order than that of the alphabet; `registered`, that a
    user's own code can make more names known.

    >>> from remanence import errors
    >>> print(errors.UnknownNameError("cell", "gruu", ["lstm", "gru"]))
    unknown cell 'gruu'. Did you mean 'gru'? Known: gru, lstm.
    """

    def __init__(
        self,
        kind: str,
        received: str,
        known: Iterable[str],
        listing: str | None = None,
        *,
        registered: bool = False,
    ):
        names = sorted(known)
        near = difflib.get_close_matches(str(received).lower(), names, n=1, cutoff=0.5)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        listing = listing or ", ".join(names)
        own = " One of your own has to be imported first (--import FILE)." if registered else ""
        super().__init__(f"unknown {kind} {received!r}.{hint} Known: {listing}.{own}")


class MissingDependencyError(RemanenceError, ImportError):
    """A feature needs a package that is installed only on request.

    >>> from remanence import errors
    >>> print(errors.MissingDependencyError("The window", "pygame", "gymnasium"))
    The window needs the package 'pygame', which is not installed: install it, or ...
    """

    def __init__(self, feature: str, package: str, extra: str):
        super().__init__(
            f"{feature} needs the package {package!r}, which is not installed: "
            f"install it, or remanence with it: `pip install '.[{extra}]'` in a clone."
        )


class PluginError(RemanenceError, ImportError):
    """Code that was to plug in cannot be imported.

    >>> from remanence import errors
    >>> print(errors.PluginError("my_task.py", NameError("name 'envs' is not defined")))
    my_task.py cannot be imported (NameError: name 'envs' is not defined). Give a Python file, ...
    """

    def __init__(self, source: str, cause: BaseException):
        told = f"{type(cause).__name__}: {cause}"
        super().__init__(
            f"{source} cannot be imported ({told}). Give a Python file, such as my_task.py, or the "
            "name of an installed module, and see that it runs by itself."
        )


class MissingMethodError(RemanenceError, NotImplementedError):
    """An environment of the user's own lacks a method that something asks it for.

    >>> from remanence import errors
    >>> print(errors.MissingMethodError("MyMaze", "judge", "which tells right from wrong"))
    MyMaze does not define judge, which tells right from wrong: write it as ...
    """

    def __init__(self, owner: str, method: str, need: str):
        super().__init__(
            f"{owner} does not define {method}, {need}: "
            f"write it as `remanence.envs.AbstractEnvironment.{method}` describes it."
        )


class StoreError(RemanenceError, OSError):
    """A file or directory cannot be read or written as it should; nothing there was changed.

    >>> from remanence import errors
    >>> error = errors.StoreError("run.json", "this is not JSON", "restore it from a copy")
    >>> print(error, error.problem, sep="; ")
    run.json: this is not JSON; restore it from a copy.; this is not JSON
    """

    problem: str = ""

    def __init__(self, path: object, problem: str, remedy: str):
        super().__init__(f"{path}: {problem}; {remedy}.")
        self.problem = problem


def _restore(kind: type[RemanenceError], message: str) -> RemanenceError:
    error = kind.__new__(kind, message)
    error.args = (message,)
    return error
