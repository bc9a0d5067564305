"""Encoder -> cell -> head as one module, and the policy and value networks built from it."""

import functools
import itertools
import math
import zlib
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from remanence._keys import derive_key
from remanence._typing import Key, Keys, Observation
from remanence._words import Seed, Seeds, word_at
from remanence.cells import AbstractCell, Stack, over_axes
from remanence.cells import make as make_cell
from remanence.errors import InvalidOptionError
from remanence.networks._architecture import Architecture
from remanence.networks._initialization import (
    PYTORCH,
    XAVIER,
    check_initialization,
    initialize_cell,
)

State = Float[Array, " state"]
Features = Float[Array, " features"]
Output = Float[Array, " output"]
Body = tuple[tuple[eqx.nn.Linear, ...], AbstractCell, tuple[eqx.nn.Linear, ...]]

POLICY_GAIN = 0.01
VALUE_GAIN = 1.0


class Network(eqx.Module):
    """A recurrent network.

    Noise turns dropout on, a stream of random words for each step; acting and evaluation give none.

    >>> from remanence import networks
    >>> architecture = networks.Architecture(cell="mingru", state_size=2, encoder=[3], head=[])
    >>> network = networks.make_policy(architecture, 1, 2, key=jax.random.key(0))
    >>> features = network.encode(jnp.ones(1))
    >>> features.shape, network.decode(features, network.initial_state()).shape
    ((3,), (2,))
    """

    encoder: tuple[eqx.nn.Linear, ...]
    cell: AbstractCell
    head: tuple[eqx.nn.Linear, ...]
    output: eqx.nn.Linear
    skip: bool = eqx.field(static=True)
    dropout: float = eqx.field(static=True)

    @property
    def observation_size(self) -> int:
        """How many numbers an observation has."""
        return self.encoder[0].weight.shape[-1] if self.encoder else self.cell.input_size

    def initial_state(self) -> State:
        """The state that opens an episode, (state,)."""
        return self.cell.initial_state()

    def encode(self, observation: Observation, noise: Seed | None = None) -> Features:
        """What the cell sees of an observation: (features,) of (observation,)."""
        return self._apply_dense(self.encoder, observation, noise, "encoder")

    def decode(self, features: Features, state: State, noise: Seed | None = None) -> Output:
        """The output (output,), from what the cell saw last and the state it is in."""
        hidden = self._drop(self.cell.read(state), noise, "cell")
        if self.skip:
            hidden = self._drop(jax.nn.relu(features + hidden), noise, "skip")
        return _apply_linear(self.output, self._apply_dense(self.head, hidden, noise, "head"))

    def narrow(self, scale: Float[Array, ""] | None) -> "Network":
        """The same network with the widths of its cells' surrogate gradients multiplied.

        >>> from remanence import networks
        >>> architecture = networks.Architecture(cell="bmru", state_size=2, head=[])
        >>> network = networks.make_policy(architecture, 1, 2, key=jax.random.key(0))
        >>> network.narrow(jnp.float32(0.5)).cell.scale, network.narrow(None).cell.scale
        (Array(0.5, dtype=float32), None)
        """
        return eqx.tree_at(lambda it: it.cell, self, self.cell.narrow(scale))

    def step(self, observation: Observation, state: State) -> tuple[Output, State]:
        """One step of acting: the output (output,) and the state (state,) after an observation.

        >>> from remanence import networks
        >>> architecture = networks.Architecture(cell="mingru", state_size=2, head=[])
        >>> network = networks.make_policy(architecture, 1, 2, key=jax.random.key(0))
        >>> output, state = network.step(jnp.ones(1), network.initial_state())
        >>> output.shape, state.shape
        ((2,), (2,))
        """
        features = self.encode(observation)
        state = self.cell.step(features, state)
        return self.decode(features, state), state

    def run(
        self,
        observations: Float[Array, "time *batch observation"],
        first: Bool[Array, "time *batch"],
        state: Float[Array, "*batch state"],
        *,
        noise: Seeds | None = None,
        method: str = "auto",
    ) -> tuple[Float[Array, "time *batch output"], Float[Array, "time *batch state"]]:
        """All outputs and states of sequences, reset before each observation `first` marks.

        Only the recurrence is sequential; encoder and head see all steps at once. Observations
        (time, ..., observation), flags (time, ...) and states (..., state) give outputs
        (time, ..., output) and states (time, ..., state); `method` is that of a cell's `run`.

        >>> from remanence import networks
        >>> architecture = networks.Architecture(cell="mingru", state_size=2, head=[])
        >>> network = networks.make_value(architecture, 1, key=jax.random.key(0))
        >>> observations, first = jnp.ones((4, 3, 1)), jnp.zeros((4, 3), bool)
        >>> outputs, states = network.run(observations, first, jnp.zeros((3, 2)))
        >>> outputs.shape, states.shape
        ((4, 3, 1), (4, 3, 2))
        """
        features = over_axes(self.encode, first.ndim)(observations, noise)
        states = self.cell.run(features, first, state, method)
        return over_axes(self.decode, first.ndim)(features, states, noise), states

    def _apply_dense(
        self,
        layers: tuple[eqx.nn.Linear, ...],
        hidden: Float[Array, " entering"],
        noise: Seed | None,
        part: str,
    ) -> Float[Array, " leaving"]:
        for number, layer in enumerate(layers):
            hidden = self._drop(
                jax.nn.relu(_apply_linear(layer, hidden)), noise, f"{part} {number}"
            )
        return hidden

    def _drop(self, hidden: Features, noise: Seed | None, layer: str) -> Features:
        if noise is None or self.dropout == 0:
            return hidden
        # Each layer reads its own stretch of the step's words.
        place = jnp.arange(len(hidden), dtype=jnp.uint32) + jnp.uint32(zlib.crc32(layer.encode()))
        kept = word_at(noise, place) >= jnp.uint32(round(self.dropout * 2**32))
        return jnp.where(kept, hidden / (1 - self.dropout), 0)


def make_policy(
    architecture: Architecture,
    observation_size: int,
    num_actions: int,
    *,
    key: Key,
    initialization: str = XAVIER,
) -> Network:
    """A policy network: one logit for each action, nearly equal at the start.

    `initialization` is one of `INITIALIZATIONS`, which tells what each is. By default dense layers
    start orthogonal, as CleanRL's do (Huang et al. 2022), with zero biases.

    >>> from remanence import networks
    >>> architecture = networks.Architecture(cell="mingru", state_size=2, head=[])
    >>> policy = networks.make_policy(architecture, 1, 2, key=jax.random.key(0))
    >>> logits, _ = policy.step(jnp.ones(1), policy.initial_state())
    >>> logits.shape, bool(abs(logits[0] - logits[1]) < 0.1)
    ((2,), True)
    """
    return _make_network(
        architecture, observation_size, num_actions, POLICY_GAIN, key, initialization
    )


def make_value(
    architecture: Architecture,
    observation_size: int,
    *,
    key: Key,
    initialization: str = XAVIER,
) -> Network:
    """A value network, which shares nothing with the policy; its output is one number, (1,).

    >>> from remanence import networks
    >>> architecture = networks.Architecture(cell="mingru", state_size=2, head=[])
    >>> value = networks.make_value(architecture, 1, key=jax.random.key(0))
    >>> value.step(jnp.ones(1), value.initial_state())[0].shape
    (1,)
    """
    return _make_network(architecture, observation_size, 1, VALUE_GAIN, key, initialization)


def make_networks(
    architecture: Architecture,
    observation_size: int,
    num_actions: int,
    *,
    keys: Keys,
    initialization: str = XAVIER,
) -> tuple[Network, Network]:
    """A policy of the first of two keys and a value network of the second.

    They are those of `make_policy` and `make_value`. What both consist of is drawn for both at
    once, and so compiled once.

    >>> from remanence import networks
    >>> architecture = networks.Architecture(cell="mingru", state_size=2, head=[])
    >>> keys = jax.random.split(jax.random.key(0))
    >>> policy, value = networks.make_networks(architecture, 1, 2, keys=keys)
    >>> policy.output.weight.shape, value.output.weight.shape
    ((2, 2), (1, 2))
    """
    check_initialization(initialization)
    bodies = eqx.filter_vmap(
        lambda key: _make_body(architecture, observation_size, key, initialization)
    )(keys)
    policy_body, value_body = (
        jax.tree.map(lambda leaf, i=i: leaf[i] if eqx.is_array(leaf) else leaf, bodies)
        for i in range(2)
    )
    return (
        _finish(architecture, policy_body, num_actions, POLICY_GAIN, keys[0], initialization),
        _finish(architecture, value_body, 1, VALUE_GAIN, keys[1], initialization),
    )


def _make_network(
    architecture: Architecture,
    observation_size: int,
    output_size: int,
    output_gain: float,
    key: Key,
    initialization: str,
) -> Network:
    check_initialization(initialization)
    body = _make_body(architecture, observation_size, key, initialization)
    return _finish(architecture, body, output_size, output_gain, key, initialization)


def _make_body(
    architecture: Architecture, observation_size: int, key: Key, initialization: str
) -> Body:
    """Encoder, cell and head: all but the output, which depends on what a network is for."""
    make_linear = _choose_linear(initialization)
    encoder_sizes = (observation_size, *architecture.encoder)
    encoder = _make_dense(derive_key(key, "encoder"), encoder_sizes, make_linear)
    encoded_size = encoder_sizes[-1]
    cell_key = derive_key(key, "cell")
    cell = _make_recurrent(cell_key, architecture, encoded_size)
    cell = initialize_cell(cell, initialization, derive_key(cell_key, initialization))
    if architecture.skip and encoded_size != cell.output_size:
        raise InvalidOptionError(
            "encoder",
            list(architecture.encoder),
            f"with skip, its last size must be that of the cell's output, {cell.output_size}",
        )
    head_sizes = (cell.output_size, *architecture.head)
    return encoder, cell, _make_dense(derive_key(key, "head"), head_sizes, make_linear)


def _finish(
    architecture: Architecture,
    body: Body,
    output_size: int,
    output_gain: float,
    key: Key,
    initialization: str,
) -> Network:
    encoder, cell, head = body
    width = architecture.head[-1] if architecture.head else cell.output_size
    make_linear = _choose_linear(initialization)
    return Network(
        encoder=encoder,
        cell=cell,
        head=head,
        output=make_linear(derive_key(key, "output"), width, output_size, output_gain),
        skip=architecture.skip,
        dropout=architecture.dropout,
    )


def _choose_linear(initialization: str) -> Callable[..., eqx.nn.Linear]:
    return _make_uniform_linear if initialization == PYTORCH else _make_linear


def _apply_linear(layer: eqx.nn.Linear, hidden: Features) -> Output:
    """W x + b with x first, so that the outputs of a batch are rows as its inputs are."""
    product = hidden @ layer.weight.T
    return product if layer.bias is None else product + layer.bias


def _make_recurrent(key: Key, architecture: Architecture, input_size: int) -> AbstractCell:
    cells = []
    for number in range(architecture.num_layers):
        cells.append(
            make_cell(
                architecture.cell,
                cells[-1].output_size if cells else input_size,
                architecture.state_size,
                key=derive_key(key, f"layer {number}"),
                **dict(architecture.cell_options),
            )
        )
    return cells[0] if len(cells) == 1 else Stack(cells)


def _make_dense(
    key: Key, sizes: tuple[int, ...], make_linear: Callable[..., eqx.nn.Linear]
) -> tuple[eqx.nn.Linear, ...]:
    return tuple(
        make_linear(derive_key(key, f"layer {number}"), *pair, gain=math.sqrt(2))
        for number, pair in enumerate(itertools.pairwise(sizes))
    )


def _make_linear(key: Key, input_size: int, output_size: int, gain: float) -> eqx.nn.Linear:
    weight = _draw_orthogonal(key, (output_size, input_size), gain)
    return eqx.tree_at(
        lambda linear: (linear.weight, linear.bias),
        _shape_linear(input_size, output_size),
        (weight, jnp.zeros(output_size)),
    )


@functools.partial(jax.jit, static_argnums=(1, 2))
def _draw_orthogonal(key: Key, shape: tuple[int, int], gain: float) -> Array:
    """By one program: operation by operation, each would be compiled for every shape."""
    return jax.nn.initializers.orthogonal(gain)(key, shape)


@functools.cache
def _shape_linear(input_size: int, output_size: int) -> eqx.nn.Linear:
    """A layer with shapes for arrays: weights of its own would be drawn for nothing."""
    return eqx.filter_eval_shape(eqx.nn.Linear, input_size, output_size, key=jax.random.key(0))


def _make_uniform_linear(key: Key, input_size: int, output_size: int, gain: float) -> eqx.nn.Linear:
    """Equinox's own start is PyTorch's, in which gains have no part."""
    del gain
    return eqx.nn.Linear(input_size, output_size, key=key)
