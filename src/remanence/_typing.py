"""Names for the types that cross room boundaries."""

import jaxtyping
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

Key = PRNGKeyArray
Keys = jaxtyping.Key[Array, " keys"]
Action = Int[Array, ""]
Flag = Bool[Array, ""]
Observation = Float[Array, " observation"]
Scalar = Float[Array, ""]
