"""A network as data: a few numbers that can be written to JSON and read back."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any

from remanence._numbers import check_whole
from remanence._registry import Registry, check_options
from remanence.errors import InvalidOptionError

# Far beyond any network that could be trained here, and small enough to count what it would take.
MOST_UNITS = 1_000_000
MOST_LAYERS = 100


@dataclasses.dataclass(frozen=True)
class Architecture:
    """Encoder -> cell(s) -> head; sizes are widths of layers, from the input to the output.

    The encoder's and the head's layers are dense with ReLU; the output layer is not counted. With
    `skip`, the encoder's output is added to the last cell's and a ReLU follows. Dropout, where its
    rate is not 0, follows every layer but the last (the cells count as one, the sum as another),
    and is on in updates only.

    >>> from remanence import networks
    >>> architecture = networks.Architecture(cell="bmru", state_size=4, head=[8])
    >>> networks.Architecture.from_json(architecture.to_json()) == architecture
    True
    >>> networks.Architecture(state_size=0)
    Traceback (most recent call last):
    remanence.errors.InvalidOptionError: state_size = 0 is not possible: use a whole number ...
    """

    cell: str = "gru"
    state_size: int = 5
    num_layers: int = 1
    encoder: Sequence[int] = ()
    head: Sequence[int] = (20, 10)
    skip: bool = False
    dropout: float = 0.0
    cell_options: Mapping[str, Any] | Sequence[tuple[str, Any]] = ()

    def __post_init__(self):
        self._validate_kinds()
        # Lists and mappings, as JSON has them, become tuples so that a description is hashable.
        object.__setattr__(self, "encoder", tuple(self.encoder))
        object.__setattr__(self, "head", tuple(self.head))
        options = self.cell_options
        pairs = options.items() if isinstance(options, Mapping) else options
        object.__setattr__(self, "cell_options", tuple(sorted((k, v) for k, v in pairs)))
        self._validate()

    def _validate_kinds(self) -> None:
        for option in ("encoder", "head"):
            if not isinstance(getattr(self, option), list | tuple):
                raise InvalidOptionError(option, getattr(self, option), "give a list of sizes")
        if not isinstance(self.cell, str):
            raise InvalidOptionError("cell", self.cell, "give the name of a cell")
        if not holds_options(self.cell_options):
            raise InvalidOptionError("cell_options", self.cell_options, "give names and values")
        if not isinstance(self.skip, bool):
            raise InvalidOptionError("skip", self.skip, "use true or false")

    def _validate(self) -> None:
        limits = [("state_size", self.state_size, MOST_UNITS)]
        limits += [("num_layers", self.num_layers, MOST_LAYERS)]
        limits += [("encoder", size, MOST_UNITS) for size in self.encoder]
        limits += [("head", size, MOST_UNITS) for size in self.head]
        for option, size, most in limits:
            check_whole(option, size, 1, most)
        for option in ("encoder", "head"):
            number = len(getattr(self, option))
            if number > MOST_LAYERS:
                raise InvalidOptionError(
                    option, f"{number:,} sizes", f"at most {MOST_LAYERS} layers are possible"
                )
        if not isinstance(self.dropout, int | float) or not 0 <= self.dropout < 1:
            raise InvalidOptionError(
                "dropout", self.dropout, "use a rate of at least 0 and below 1"
            )
        if self.skip and not self.encoder:
            raise InvalidOptionError(
                "encoder", [], "with skip, give one as wide as the output of the cell"
            )

    def to_json(self) -> str:
        """The description as JSON text, an object of its fields."""
        fields = dataclasses.asdict(self) | {"cell_options": dict(self.cell_options)}
        return json.dumps(fields, indent=2)

    @classmethod
    def from_json(cls, text: str) -> "Architecture":
        """The architecture that `to_json` wrote; fields that are left out have their defaults."""
        try:
            fields = json.loads(text)
        except json.JSONDecodeError as error:
            raise InvalidOptionError(
                "architecture", text[:60], f"this is not JSON ({error})"
            ) from error
        if not isinstance(fields, dict):
            raise InvalidOptionError("architecture", fields, "give a JSON object")
        check_options("architecture", fields, [field.name for field in dataclasses.fields(cls)])
        return cls(**fields)


def holds_options(found: Any) -> bool:
    """Whether it has names and values, as a mapping or in pairs."""
    if isinstance(found, Mapping):
        return all(isinstance(name, str) for name in found)
    return isinstance(found, list | tuple) and all(
        isinstance(pair, list | tuple) and len(pair) == 2 and isinstance(pair[0], str)
        for pair in found
    )


architectures: Registry[Architecture] = Registry("architecture")
register_architecture = architectures.register

register_architecture("small", Architecture())
register_architecture(
    "wide", Architecture(state_size=128, encoder=(128,), head=(64, 16), skip=True, dropout=0.1)
)


def make_architecture(name: str, **changes: Any) -> Architecture:
    """The architecture of that name, with any of its fields changed.

    >>> from remanence import networks
    >>> networks.make_architecture("small", cell="bmru").cell
    'bmru'
    """
    fields = [field.name for field in dataclasses.fields(Architecture)]
    check_options("architecture", changes, fields)
    return dataclasses.replace(architectures[name], **changes)
