"""One way to keep things under a name: cells, environments, presets, experiments."""

from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

from remanence._plugins import load_plugins
from remanence.errors import InvalidOptionError, UnknownNameError

Entry = TypeVar("Entry")


class Registry(Generic[Entry]):
    """Named entries of one kind; an unknown name is answered with the nearest known one.

    Plugins are loaded when somebody asks for a name that is not there, or for all of them.
    """

    def __init__(self, kind: str):
        self.kind = kind
        self._entries: dict[str, Entry] = {}
        self._older_names: dict[str, str] = {}

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
                "name", name, "use only lower-case letters, digits, '-' and '_'"
            )
        if name in self._entries:
            raise InvalidOptionError("name", name, f"another {self.kind} has that name already")
        self._entries[name] = entry
        return entry

    def rename(self, older: str, name: str) -> None:
        """Go on to understand a name that an entry had before."""
        self._older_names[older] = name

    def find_name(self, name: str) -> str:
        """The present name of an entry; an unknown one is left as it is."""
        if name not in self._entries:
            load_plugins()
        return name if name in self._entries else self._older_names.get(name, name)

    def __getitem__(self, name: str) -> Entry:
        found = self.find_name(name)
        if found not in self._entries:
            raise UnknownNameError(self.kind, name, self._entries, registered=True)
        return self._entries[found]

    def __iter__(self) -> Iterator[str]:
        load_plugins()
        return iter(self._entries)

    def __contains__(self, name: str) -> bool:
        return self.find_name(name) in self._entries

    def unregister(self, name: str) -> None:
        """Forget `name`, so that a notebook cell which registers it can be run again."""
        del self._entries[name]


def check_options(owner: str, received: Iterable[str], known: Iterable[str]) -> None:
    """Raise on the first option that `owner` does not have."""
    known = list(known)
    for option in received:
        if option not in known:
            raise UnknownNameError(f"option of {owner}", option, known)
