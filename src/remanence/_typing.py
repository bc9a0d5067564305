"""Names for the types that cross room boundaries."""

from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

Key = PRNGKeyArray
Action = Int[Array, ""]
Flag = Bool[Array, ""]
Observation = Float[Array, " observation"]
Scalar = Float[Array, ""]
