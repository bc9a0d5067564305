"""Draw both environments on their first step, side by side, as one PNG."""

import sys

import gymnasium
import numpy as np
from PIL import Image

import remanence  # noqa: F401  (makes the names known to Gymnasium)

SCENES = {
    "remanence/TMaze-v0": {"length": 10},
    "remanence/LookupTreeMaze-v0": {"num_mazes": 20, "length": 3},
}


def draw(name: str, options: dict[str, int]) -> np.ndarray:
    """The picture of a first step."""
    env = gymnasium.make(name, render_mode="rgb_array", **options)
    env.reset(seed=1)
    return np.asarray(env.render())


frames = [draw(name, options) for name, options in SCENES.items()]
canvas = Image.new(
    "RGB",
    (sum(frame.shape[1] for frame in frames), max(frame.shape[0] for frame in frames)),
    tuple(frames[0][0, 0]),
)
left = 0
for frame in frames:
    canvas.paste(Image.fromarray(frame), (left, 0))
    left += frame.shape[1]
out = sys.argv[1] if len(sys.argv) > 1 else "environments.png"
canvas.save(out)
print(f"wrote {out}")
