"""The bistable memory recurrent unit (De Geeter et al. 2026), written from its equations alone.

Its forward pass is exact; how gradients pass through its steps is our choice.
"""

import functools
import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from remanence._keys import derive_key
from remanence._numbers import is_number
from remanence._typing import Key
from remanence.cells._cell import AbstractGatedCell, AbstractLinearCell, State
from remanence.cells._weights import Gates, Projection
from remanence.errors import InvalidOptionError, UnknownNameError

Values = Float[Array, "*shape"]
Width = float | Float[Array, ""]

# Each stands for the derivative of the Heaviside step at u, bounded and 1 at u = 0.
SURROGATES: Mapping[str, Callable[[Array], Array]] = MappingProxyType(
    {
        "arctan": lambda u: 1 / (1 + (math.pi * u) ** 2),
        "triangle": lambda u: jnp.maximum(0, 1 - jnp.abs(u)),
        "box": lambda u: (jnp.abs(u) < 1).astype(u.dtype),
    }
)


class BMRU(AbstractGatedCell, AbstractLinearCell):
    """Each unit holds +α or -α until an input larger than its threshold sets it anew.

        n = W_n x + b_n
        β = |W_β x + b_β|
        z = H(|n| - β)
        h <- z * S(n) * α + (1 - z) * h

    with H(0) = 0 and S(0) = +1 (De Geeter et al. 2026). `inputs` stacks n and β in that order.
    Backward, H has the derivative `surrogate(u / surrogate_width)` and S twice that; `surrogate`
    is one of `SURROGATES`. α and the bias of β start at `initial_alpha` and `initial_threshold`.

    `scale` multiplies the width while `narrow` says so, and is neither trained nor saved.

    >>> from remanence import cells
    >>> cell = cells.BMRU(1, 2, key=jax.random.key(0))
    >>> cell.step(jnp.zeros(1), jnp.array([1.0, -1.0]))
    Array([ 1., -1.], dtype=float32)
    """

    inputs: Projection
    alpha: Float[Array, " state"]
    surrogate: str = eqx.field(static=True)
    surrogate_width: float = eqx.field(static=True)
    scale: Float[Array, ""] | None

    def __init__(
        self,
        input_size: int,
        state_size: int,
        *,
        key: Key,
        surrogate: str = "arctan",
        surrogate_width: float = 1.0,
        initial_alpha: float = 1.0,
        initial_threshold: float = 0.5,
    ):
        if not isinstance(surrogate, str) or surrogate not in SURROGATES:
            raise UnknownNameError("surrogate", surrogate, SURROGATES)
        for option, value in [
            ("surrogate_width", surrogate_width),
            ("initial_threshold", initial_threshold),
        ]:
            if not is_number(value) or not 0 < value < math.inf:
                raise InvalidOptionError(option, value, "use a number above 0")
        if not is_number(initial_alpha) or not math.isfinite(initial_alpha):
            raise InvalidOptionError("initial_alpha", initial_alpha, "use a finite number")
        self.surrogate = surrogate
        self.surrogate_width = surrogate_width
        self.scale = None
        inputs = Projection("nβ", input_size, state_size, key=derive_key(key, "input"))
        self.inputs = eqx.tree_at(
            lambda it: it.bias, inputs, inputs.bias.at[1].set(initial_threshold)
        )
        self.alpha = initial_alpha * jnp.ones(state_size)

    @property
    def thresholded(self) -> bool:
        return True

    def coefficients(self, projected: Gates) -> tuple[State, State]:
        n, threshold = projected[0], jnp.abs(projected[1])
        width = self._find_width(n)
        z = heaviside(jnp.abs(n) - threshold, width, self.surrogate)
        return 1 - z, z * sign(n, width, self.surrogate) * self.alpha

    def narrow(self, scale: Float[Array, ""] | None) -> "BMRU":
        return eqx.tree_at(lambda it: it.scale, self, scale, is_leaf=lambda leaf: leaf is None)

    def measure_hesitation(
        self, input: Float[Array, " input"], state: State, margin: float
    ) -> Float[Array, ""]:
        """The mean over units of max(0, 1 - ||n| - β| / margin): 1 where setting hangs by a thread.

        >>> from remanence import cells
        >>> cell = cells.BMRU(1, 2, key=jax.random.key(0), initial_threshold=0.5)
        >>> cell.measure_hesitation(jnp.zeros(1), cell.initial_state(), 2.0)  # n = 0, β = 0.5
        Array(0.75, dtype=float32)
        """
        n, threshold = self.project(input)
        distance = jnp.abs(jnp.abs(n) - jnp.abs(threshold))
        return jnp.mean(jnp.maximum(0, 1 - distance / margin))

    def _find_width(self, n: Values) -> Width:
        if self.scale is None:
            return self.surrogate_width
        return self.surrogate_width * self.scale.astype(n.dtype)


@functools.partial(jax.custom_jvp, nondiff_argnums=(2,))
def heaviside(u: Values, width: Width, surrogate: str) -> Values:
    """1 above 0, else 0; its derivative is the surrogate's."""
    return (u > 0).astype(u.dtype)


@heaviside.defjvp
def _heaviside_jvp(
    surrogate: str, primals: tuple[Values, Width], tangents: tuple[Values, Any]
) -> tuple[Values, Values]:
    (u, width), (du, _) = primals, tangents
    return heaviside(u, width, surrogate), SURROGATES[surrogate](u / width) * du


@functools.partial(jax.custom_jvp, nondiff_argnums=(2,))
def sign(u: Values, width: Width, surrogate: str) -> Values:
    """+1 from 0 upwards, else -1; its derivative is twice the surrogate's."""
    return jnp.where(u >= 0, 1, -1).astype(u.dtype)


@sign.defjvp
def _sign_jvp(
    surrogate: str, primals: tuple[Values, Width], tangents: tuple[Values, Any]
) -> tuple[Values, Values]:
    (u, width), (du, _) = primals, tangents
    return sign(u, width, surrogate), 2 * SURROGATES[surrogate](u / width) * du
