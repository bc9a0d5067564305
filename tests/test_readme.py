import re
from pathlib import Path

import pytest

from remanence import cells

README = (Path(__file__).parents[1] / "README.md").read_text()


@pytest.fixture(autouse=True)
def _own_cells_are_forgotten():
    known = set(cells.registry)
    yield
    for name in set(cells.registry) - known:
        cells.registry.unregister(name)


@pytest.mark.parametrize("number", range(README.count("```python")))
def test_what_the_readme_shows_runs(number):
    """As printed, but for the sizes: a training of one iteration says as much as one of ten."""
    block = re.findall(r"```python\n(.*?)```", README, re.DOTALL)[number]
    small = "num_iterations=1, num_envs=4, num_steps=16"
    block = block.replace("num_iterations=10", small).replace("num_envs=4096", "num_envs=4")
    exec(compile(block, f"README.md, block {number}", "exec"), {})
