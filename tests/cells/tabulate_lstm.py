"""PyTorch's LSTMCell on a few random numbers, as a table that needs no PyTorch to be compared with.

    python tests/cells/tabulate_lstm.py > tests/cells/lstm.json

in an environment with torch and numpy.
"""

import json

import numpy as np
import torch

INPUT_SIZE, NUM_UNITS, NUM_STEPS = 2, 3, 6

rng = np.random.default_rng(0)
cell = torch.nn.LSTMCell(INPUT_SIZE, NUM_UNITS, dtype=torch.float64)
weights = {
    name: rng.normal(size=tuple(parameter.shape)).round(3)
    for name, parameter in cell.named_parameters()
}
cell.load_state_dict({name: torch.from_numpy(array) for name, array in weights.items()})
inputs = rng.normal(size=(NUM_STEPS, INPUT_SIZE)).round(3)
h, c = (torch.from_numpy(rng.normal(size=NUM_UNITS).round(3)) for _ in "hc")
states = [[*h.tolist(), *c.tolist()]]
with torch.no_grad():
    for x in torch.from_numpy(inputs):
        h, c = cell(x, (h, c))
        states.append([*h.tolist(), *c.tolist()])

table = {
    "made by": "python tests/cells/tabulate_lstm.py",
    "versions": {"torch": torch.__version__, "numpy": np.__version__},
    "weights": {name: array.tolist() for name, array in weights.items()},
    "inputs": inputs.tolist(),
    "states": states,
}
print(json.dumps(table, indent=1))
