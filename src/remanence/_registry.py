"""One way to keep things under a name, for cells and environments alike."""

from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

from remanence.errors import InvalidOptionError, UnknownNameError

Entry = TypeVar("Entry")


class Registry(Generic[Entry]):
    """Named entries of one kind; an unknown name is answered with the nearest known one."""

    def __init__(self, kind: str):
        self.kind = kind
        self._entries: dict[str, Entry] = {}

    def register(self, name: str, entry: Entry) -> Entry:
        """Make `entry` known as `name` everywhere, and return it; names are lower case, used once.

        >>> from remanence import cells
        >>> _ = cells.register("my-cell", cells.GRU)
        >>> cells.make("my-cell", 1, 2, key=jax.random.key(0)).state_size
        2
        >>> cells.registry.unregister("my-cell")
        """
        if not name or name != name.lower() or not name.replace("-", "").replace("_", "").isalnum():
            raise InvalidOptionError(
                "name", name, "use lower-case letters, digits, '-' and '_' alone"
            )
        if name in self._entries:
            raise InvalidOptionError("name", name, f"there is a {self.kind} of that name already")
        self._entries[name] = entry
        return entry

    def __getitem__(self, name: str) -> Entry:
        if name not in self._entries:
            raise UnknownNameError(self.kind, name, self._entries)
        return self._entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def unregister(self, name: str) -> None:
        """Forget `name`, so that a notebook cell which registers it can be run again."""
        del self._entries[name]


def check_options(owner: str, received: Iterable[str], known: Iterable[str]) -> None:
    """Raise on the first option that `owner` does not have."""
    known = list(known)
    for option in received:
        if option not in known:
            raise UnknownNameError(f"option of {owner}", option, known)
