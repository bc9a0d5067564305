"""Studies as files: TOML that a person reads, writes and copies."""

import dataclasses
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from remanence._numbers import check_whole, is_whole
from remanence._registry import check_options
from remanence.certificates import BUDGET
from remanence.envs import space_lengths
from remanence.errors import InvalidOptionError, RemanenceError, StoreError, UnknownNameError
from remanence.evaluation import LONGEST
from remanence.study._names import check_variant, name_job
from remanence.study._plan import DEFAULT_STAGES, Job, Study
from remanence.study._slurm_options import SlurmOptions
from remanence.study._stages import stages as known_stages
from remanence.training import LARGEST_SEED, MOST_SEEDS, get_preset

Made = TypeVar("Made")

MOST_PER_DECADE = 1_000
# What may be given as a list too.
_LISTS = ("seeds", "lengths", "sampled_lengths")


def list_profiles(study: str, folder: Path) -> list[str]:
    """The sizes of a study that a folder has: files such as STUDY-laptop.toml.

    >>> from pathlib import Path
    >>> from remanence import study
    >>> for name in ("recall-laptop.toml", "recall-full.toml"):
    ...     Path(name).touch()
    >>> study.list_profiles("recall", Path("."))
    ['full', 'laptop']
    """
    return sorted(path.stem.removeprefix(f"{study}-") for path in folder.glob(f"{study}-*.toml"))


def load_profile(study: str, profile: str, folder: Path | None = None) -> Study:
    """A study in one of the sizes that a folder has, or from a TOML file of the user's own.

    >>> from pathlib import Path
    >>> from remanence import study
    >>> _ = Path("recall-tiny.toml").write_text('''
    ... name = "recall"
    ... profile = "tiny"
    ... lengths = {shortest = 2, longest = 1000}
    ... [[trainings]]
    ... presets = ["lookup-tree-maze"]
    ... cells = ["gru", "mingru"]
    ... seeds = {first = 1, last = 3}
    ... num_iterations = 10
    ... ''')
    >>> [job.id for job in study.load_profile("recall", "tiny", Path(".")).jobs]
    ['lookup-tree-maze-gru', 'lookup-tree-maze-mingru']
    """
    if profile.endswith(".toml"):
        found = _read_profile(Path(profile))
        if found.name != study:
            raise InvalidOptionError("study", study, f"{profile} is a study called {found.name}")
        return found
    known = list_profiles(study, folder) if folder else []
    if not known or folder is None:
        remedy = f"no sizes of {study} are known here; give a TOML file"
        raise InvalidOptionError("profile", profile, remedy)
    if profile not in known:
        raise UnknownNameError("profile", profile, known)
    return _read_profile(folder / f"{study}-{profile}.toml")


def load_slurm_options(study: str, profile: str, folder: Path | None = None) -> SlurmOptions:
    """What the table `[slurm]` of a study's file asks of the cluster, which a group shares.

    >>> from pathlib import Path
    >>> from remanence import study
    >>> _ = Path("recall-tiny.toml").write_text("[slurm]\\npartition = 'short'\\nmax_jobs = 20")
    >>> options = study.load_slurm_options("recall", "tiny", Path("."))
    >>> options.partition, options.max_jobs
    ('short', 20)
    """
    own = profile.endswith(".toml")
    path = Path(profile) if own else Path(folder or "") / f"{study}-{profile}.toml"
    return _interpret(path, _make_options)


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        problem = f"cannot be read ({error.strerror or error})"
        raise StoreError(path, problem, "check the path") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise StoreError(path, f"this is not TOML ({error})", "correct it") from error


def _read_profile(path: Path) -> Study:
    return _interpret(path, _make_study)


def _interpret(path: Path, make: Callable[[dict[str, Any]], Made]) -> Made:
    """What a file of TOML is made into; the file is named where that cannot be done."""
    found = _read_toml(path)
    try:
        return make(found)
    except RemanenceError as error:
        raise StoreError(path, str(error).rstrip("."), "correct it") from error


def _make_options(found: Mapping[str, Any]) -> SlurmOptions:
    given = found.get("slurm", {})
    _check_keys("slurm", given, (), [field.name for field in dataclasses.fields(SlurmOptions)])
    return SlurmOptions(**given)


def _make_study(found: Mapping[str, Any]) -> Study:
    needed = ("name", "profile", "lengths", "trainings")
    _check_keys(
        "a study", found, needed, ("note", "sampled_lengths", "stages", "variants", "slurm")
    )
    _make_options(found)  # a mistake is told before somebody takes the study to a cluster
    shared = {key: found[key] for key in ("lengths", "sampled_lengths", "stages") if key in found}
    arms = read_variants(found.get("variants", {}))
    jobs = [
        job
        for training in found["trainings"]
        for arm in _list_arms(training, arms)
        for job in _list_jobs({**shared, **arm})
    ]
    study = Study(found["name"], found["profile"], found.get("note", ""), jobs)
    study.check()
    return study


def _list_arms(
    training: Mapping[str, Any], arms: Mapping[str, Mapping[str, Any]]
) -> Iterator[Mapping[str, Any]]:
    """A training in all arms of its study; one that names its variant, in that alone."""
    needed = ("presets", "cells", "seeds", "num_iterations")
    optional = ("network", "seeds_per_job", "lengths", "sampled_lengths", "budget", "changes")
    _check_keys("a training", training, needed, (*optional, "variant", "stages"))
    yield training
    for variant, changes in arms.items() if "variant" not in training else ():
        changed = {**training.get("changes", {}), **changes}
        yield {**training, "variant": variant, "changes": changed}


def read_variants(given: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """What each variant changes: a table of options, or those of the variants that a list names.

    >>> from remanence import study
    >>> given = {"short": {"length": 2}, "blunt": {"discount": 0.9}, "both": ["short", "blunt"]}
    >>> study.read_variants(given)["both"]
    {'length': 2, 'discount': 0.9}
    """
    for name in given:
        if not name:
            raise InvalidOptionError("variants", name, "the main arm has no name; name the others")
        check_variant(name)
    single = {name: it for name, it in given.items() if isinstance(it, Mapping)}
    return {
        name: dict(it) if name in single else _combine_variants(name, it, single)
        for name, it in given.items()
    }


def _combine_variants(
    name: str, parts: Any, single: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    if not isinstance(parts, list) or len(parts) < 2:
        remedy = "give a table of options, or a list of two or more variants to combine"
        raise InvalidOptionError(f"variants.{name}", parts, remedy)
    changes: dict[str, Any] = {}
    for part in parts:
        if not isinstance(part, str) or part not in single:
            raise UnknownNameError("variant", str(part), single)
        twice = changes.keys() & single[part].keys()
        if twice:
            remedy = f"two of them change {', '.join(sorted(twice))}; leave one out"
            raise InvalidOptionError(f"variants.{name}", parts, remedy)
        changes |= single[part]
    return changes


def _list_jobs(training: Mapping[str, Any]) -> Iterator[Job]:
    seeds = _read_seeds(training["seeds"])
    size = training.get("seeds_per_job", max(1, len(seeds)))
    check_whole("seeds_per_job", size, 1)
    variant, stages = training.get("variant", ""), training.get("stages")
    changes = _read_changes(training.get("changes", {}))
    lengths, sampled = (_read_lengths(training.get(f"{it}lengths", [])) for it in ("", "sampled_"))
    for preset in training["presets"]:
        network = training.get("network", get_preset(preset).architecture)
        for cell in training["cells"]:
            for start in range(0, max(1, len(seeds)), size):
                batch = seeds[start : start + size]
                named = batch if size < len(seeds) else None
                yield Job(
                    id=name_job(preset, network, cell, variant, named),
                    preset=preset,
                    network=network,
                    cell=cell,
                    seeds=batch,
                    num_iterations=training["num_iterations"],
                    lengths=lengths,
                    sampled_lengths=sampled,
                    budget=training.get("budget", BUDGET),
                    changes=get_preset(preset).choose(cell, changes),
                    stages=_choose_stages(preset) if stages is None else stages,
                    variant=variant,
                )


def _choose_stages(preset: str) -> list[str]:
    environment, _ = get_preset(preset).make_environment()
    return [name for name in DEFAULT_STAGES if known_stages[name].supports(environment)]


def _read_seeds(given: Any) -> list[int]:
    """A list, or a table of the first and the last."""
    if isinstance(given, list):
        return given
    _check_keys("seeds", given, ("first", "last"))
    for end in ("first", "last"):
        check_whole(end, given[end], 0, LARGEST_SEED)
    if not 0 <= given["last"] - given["first"] < MOST_SEEDS:
        remedy = f"the first must not exceed the last, and at most {MOST_SEEDS:,} are possible"
        raise InvalidOptionError("seeds", given, remedy)
    return list(range(given["first"], given["last"] + 1))


def _read_changes(given: Mapping[str, Any]) -> dict[str, Any]:
    """Options by name; TOML has no null, so "none" stands for it, as on the command line."""
    return {name: None if value == "none" else value for name, value in given.items()}


def _read_lengths(given: Any) -> list[int]:
    """A list, or a table of the ends between which they are log-spaced, and some more."""
    if isinstance(given, list):
        return given
    _check_keys("lengths", given, ("shortest", "longest"), ("per_decade", "also"))
    shortest, longest = (
        check_whole(end, given[end], 1, LONGEST) for end in ("shortest", "longest")
    )
    per_decade = check_whole("per_decade", given.get("per_decade", 10), 1, MOST_PER_DECADE)
    spaced = space_lengths(shortest, longest, per_decade)
    also = given.get("also", [])
    if not isinstance(also, list) or not all(is_whole(length, lowest=1) for length in also):
        raise InvalidOptionError("also", also, "give a list of whole numbers of 1 or more")
    return sorted({*spaced, *also})


def _check_keys(
    owner: str, found: Any, needed: Sequence[str], optional: Sequence[str] = ()
) -> None:
    known = (*needed, *optional)
    if not isinstance(found, dict):
        table = f"a table of {', '.join(known)}"
        remedy = f"a list of numbers or {table}" if owner in _LISTS else table
        raise InvalidOptionError(owner, found, f"give {remedy}")
    check_options(owner, found, known)
    for key in known:
        if key not in found and key in needed:
            raise InvalidOptionError(key, None, f"{owner} needs it")
        if key in found and key in _KINDS:
            kind, remedy = _KINDS[key]
            fits = isinstance(found[key], kind)
            if not fits or (key in _NAMES and not all(isinstance(it, str) for it in found[key])):
                raise InvalidOptionError(key, found[key], remedy)


# Keys whose values are of one kind wherever they stand; all others are checked where they are used.
_KINDS: Mapping[str, tuple[type, str]] = {
    **dict.fromkeys(("name", "profile", "network", "variant"), (str, "give a name")),
    "note": (str, "give a sentence"),
    "presets": (list, "give a list of names"),
    "cells": (list, "give a list of names"),
    "trainings": (list, "give a list"),
    "variants": (dict, "give a table of variants, such as ends = { time_limit_ends = true }"),
    "changes": (dict, "give a table of options, such as { discount = 0.9, length = [1, 5] }"),
    "stages": (list, "give a list of names, such as evaluate and stability"),
}
# Lists whose entries are names.
_NAMES = ("presets", "cells", "stages")
