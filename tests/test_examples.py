import subprocess
import sys
from pathlib import Path

import pytest

from remanence.cli import main

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_examples_run(example, tmp_path):
    done = subprocess.run(
        [sys.executable, example], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.parametrize(
    "run", sorted((EXAMPLES / "agents").glob("*/run.json")), ids=lambda run: run.parent.name
)
def test_trained_agents_last_as_long_as_their_readme_says(run, tmp_path, capsys):
    name = run.parent.name
    readme = (EXAMPLES / "agents" / "README.md").read_text(encoding="utf-8")
    row = next(line for line in readme.splitlines() if line.startswith(f"| [{name}]"))
    main(["certify", str(run.parent), "--out", str(tmp_path)])
    said = capsys.readouterr().out
    assert ("LASTS FOR EVER" in said) == ("| every length |" in row)
    agent = f"{run.parent}/agents/seed-1.safetensors"
    with pytest.raises(SystemExit) as checked:
        main(["check", "--rerun", f"{tmp_path}/seed-1.json", agent])
    assert checked.value.code == 0
    main(["evaluate", str(run.parent), "--lengths", "2:1e6", "--out", str(tmp_path / "out")])
    assert (tmp_path / "out" / "evaluations.parquet").exists()
