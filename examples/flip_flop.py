"""The 3-bit flip-flop of Sussillo and Barak (2013): a memory whose 8 states are fixed points.

Three units excite themselves, so each keeps its sign, and couple weakly to one another.
"""

import jax.numpy as jnp
import numpy as np

from remanence import dynamics

RECURRENT = 2.0 * np.eye(3) + 0.1 * np.array([[0, 1, -1], [-1, 0, 1], [1, 1, 0]])


def receive(pulse):
    """The network's update while `pulse` comes in: h <- tanh(W h + pulse)."""
    return lambda state: jnp.tanh(jnp.asarray(RECURRENT) @ state + jnp.asarray(pulse))


def read_bits(state):
    return "".join("+" if unit > 0 else "-" for unit in state)


idle = receive(np.zeros(3))
starts = dynamics.spread_starts(seed=0, num=512, size=3)
points = dynamics.find_fixed_points(idle, starts)
stable = [point for point in points if point.stable]
print(f"{len(points)} fixed points, of which {len(stable)} are stable:\n")
print("bits   units                  fades by e in   basin")
attractors = dynamics.find_attractors(idle, starts)
shares = {read_bits(it.points[0]): it.share for it in attractors}
for point in stable:
    bits = read_bits(point.point)
    units = "  ".join(f"{unit:+.2f}" for unit in point.point)
    print(f"{bits}    {units}    {point.time_constant_steps:.2f} steps      {shares[bits]:.1%}")

print("\nThe others stand between them, by the number of directions that lead away:")
for num_unstable in (1, 2, 3):
    print(f"  {num_unstable}: {sum(it.num_unstable == num_unstable for it in points)}")

state = np.array([-0.9, -0.9, -0.9])
print("\nWrite a bit with a pulse of one step, then wait for a million:")
for bit, sign in [(0, 1), (2, 1), (0, -1)]:
    before = read_bits(state)
    [state] = dynamics.iterate(receive(4.0 * sign * np.eye(3)[bit]), state[None], 1)
    [state] = dynamics.iterate(idle, state[None], 1_000_000)
    print(f"  {before}  bit {bit} {'on ' if sign > 0 else 'off'}  ->  {read_bits(state)}")
