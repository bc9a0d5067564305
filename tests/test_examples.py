import re
from pathlib import Path

import pytest

from remanence.cli import main

EXAMPLES = Path(__file__).parents[1] / "examples"
# What does not change which lines run: one iteration says as much as sixty.
SMALLER = {
    r"(num_iterations ?= ?)[46]0\b": r"\g<1>1",
    r"(linspace\(0, 6, )25\b": r"\g<1>7",
    r"(resolution=)64\b": r"\g<1>8",
    r"\b1_000_000\b": "1_000",
}


@pytest.fixture(scope="module")
def smaller(tmp_path_factory):
    """The examples, with sizes for which little is to be computed."""
    directory = tmp_path_factory.mktemp("examples")
    changes = []
    for file in (path for path in EXAMPLES.iterdir() if path.is_file()):
        text = file.read_text(encoding="utf-8")
        for pattern, instead in SMALLER.items():
            text, count = re.subn(pattern, instead, text)
            changes += [pattern] * count
        (directory / file.name).write_text(text, encoding="utf-8")
    assert set(changes) == set(SMALLER), "sizes are written otherwise now"
    return directory


@pytest.mark.parametrize("name", sorted(path.stem for path in EXAMPLES.glob("*.py")))
def test_examples_run(name, smaller, nursery, tmp_path):
    """As they are, but for the sizes."""
    work = tmp_path / "work"
    work.mkdir()
    done = nursery.start(smaller / f"{name}.py", directory=work, log=tmp_path / "log")
    assert done.wait() == 0, done.stderr
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
