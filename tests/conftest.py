"""Every test runs with shape checking on and JAX at its strictest."""

import jax
from jaxtyping import install_import_hook

install_import_hook("remanence", "beartype.beartype")

jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")
