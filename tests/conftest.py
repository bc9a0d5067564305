"""Every test runs with shape checking on and JAX at its strictest."""

import os
from pathlib import Path

# Many tests compile the same programs, in several processes; all of them share what is compiled.
_COMPILED = Path(__file__).parents[1] / ".pytest_cache" / "compiled"
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(_COMPILED))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.2")

import jax  # noqa: E402
from jaxtyping import install_import_hook  # noqa: E402

install_import_hook("remanence", "beartype.beartype")

jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")
