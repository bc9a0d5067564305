"""Attractors of a PyTorch GRUCell, seen through plain NumPy: any function of a state will do.

`python numpy_cell_attractors.py cell.pt` reads the `state_dict` of a GRUCell of your own, if
PyTorch is installed. The weights beside this script were made by PyTorch 2.13:

    torch.manual_seed(4)
    cell = torch.nn.GRUCell(2, 5)
    cell.weight_hh.data *= 6

and `update` below agrees with that cell to 1e-6. It computes in float64. A function that computes
in float32 will do as well, and what is then left unknown of a time constant is printed beside it.
"""

import json
import sys
from pathlib import Path

import numpy as np

from remanence import dynamics


def load_weights(path):
    if path is None:
        stored = json.loads(Path(__file__).with_name("torch_gru_cell.json").read_text())
    else:
        import torch

        stored = torch.load(path)
    return [
        np.asarray(stored[f"{kind}_{side}"], np.float64)
        for kind in ("weight", "bias")
        for side in ("ih", "hh")
    ]


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


weight_ih, weight_hh, bias_ih, bias_hh = load_weights(sys.argv[1] if len(sys.argv) > 1 else None)
size = weight_hh.shape[1]
idle_input = np.zeros(weight_ih.shape[1])


def update(state, input=idle_input):
    """PyTorch stacks the gates in the order r, z, n, and has a bias inside of r * (...)."""
    x_r, x_z, x_n = (weight_ih @ input + bias_ih).reshape(3, size)
    h_r, h_z, h_n = (weight_hh @ state + bias_hh).reshape(3, size)
    r, z = sigmoid(x_r + h_r), sigmoid(x_z + h_z)
    return (1 - z) * np.tanh(x_n + r * h_n) + z * state


if __name__ == "__main__":
    step = dynamics.from_numpy(update)
    starts = dynamics.spread_starts(seed=0, num=32, size=size)
    attractors = dynamics.find_attractors(step, starts, budget=2_000, tolerance=1e-6)
    print(f"With its input at 0, this GRUCell of {size} units has {len(attractors)} attractors:")
    for attractor in attractors:
        kind = "a fixed point" if attractor.period == 1 else f"a cycle of {attractor.period} steps"
        print(f"- {kind} that {attractor.share:.0%} of all starts end in, at", end=" ")
        print(np.array2string(attractor.points[0], precision=2, floatmode="fixed"), end="; ")
        print(f"disturbances fade by e in {attractor.time_constant_steps:.1f} steps", end=" ")
        print(f"(to within {attractor.time_constant_error_steps:.0e})")
    print(f"{1 - sum(it.share for it in attractors):.0%} of the starts did not settle.")
