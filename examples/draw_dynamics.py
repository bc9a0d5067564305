"""A GRU becomes bistable: its equilibria as one weight grows, and the basins of a larger one.

Writes bifurcation.png and basins.png into the directory it is run in.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from remanence import cells, dynamics, figures


def excite(size, weight):
    """A GRU whose candidate alone depends on its state, by the given matrix."""
    cell = cells.GRU(input_size=1, state_size=size, key=jax.random.key(0))
    gates = jnp.stack([jnp.zeros_like(weight), jnp.zeros_like(weight), weight])  # r, z, n
    return eqx.tree_at(lambda it: it.recurrent_weight, cell, gates)


# One unit under no input, and W_hn from 0 to 6: one equilibrium becomes three, two of them stable.
def make_step(weight):
    return dynamics.idle_map(excite(1, weight[None, None]), np.zeros(1))


starts = np.linspace(-1, 1, 16)[:, None]
bifurcation = dynamics.trace_bifurcation(make_step, np.linspace(0, 6, 25), starts)
figures.save_figure(
    figures.draw_bifurcation(bifurcation, parameter_name="recurrent weight $W_{hn}$"),
    "bifurcation.png",
)
first = bifurcation.values[np.argmax(bifurcation.num_attractors > 1)]
print(f"one stable state below a weight of {first:g}, two from there on")

# Two units that excite themselves: four stable states, each with a basin of its own.
pair = excite(2, jnp.array([[6.0, 1.0], [-1.0, 6.0]]))
basins = dynamics.map_basins(
    dynamics.idle_map(pair, np.zeros(1)), np.zeros(2), np.eye(2), resolution=64
)
figures.save_figure(figures.draw_basins(basins, ("unit 0", "unit 1")), "basins.png")
for attractor in basins.attractors:
    place = np.array2string(attractor.points[0], precision=2, suppress_small=True)
    print(
        f"{place} draws in {attractor.share:.0%}, its slowest mode takes "
        f"{attractor.time_constant_steps:.1f} steps"
    )
