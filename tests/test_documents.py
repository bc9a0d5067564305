"""What documents show runs, and what they say that commands print is what these print."""

import re
from importlib.metadata import version

import jax
import pytest

from remanence import cells
from remanence.store import describe_machine
from tests.documents import DOCUMENTS, MADE_ON, ROOT, list_commands, mask

PAGES = (*DOCUMENTS, "CONTRIBUTING.md", "CHANGELOG.md", "benchmarks/README.md")
PAGES = (*PAGES, "docs/results/tmaze/README.md", "docs/results/lookup-tree/README.md")
PAGES = (*PAGES, "docs/results/lookup-tree-lasting/README.md", "docs/results/lookup-tree/trials.md")
PAGES = (*PAGES, *(f"docs/results/lookup-tree-{name}/README.md" for name in ("near", "slips")))
TEXTS = {name: (ROOT / name).read_text(encoding="utf-8") for name in PAGES}
SNIPPETS = [
    pytest.param(code, id=f"{name}, {number}")
    for name, text in TEXTS.items()
    for number, code in enumerate(re.findall(r"```python\n(.*?)```", text, re.DOTALL))
]


@pytest.fixture
def _own_cells_are_forgotten():
    known = set(cells.registry)
    yield
    for name in set(cells.registry) - known:
        cells.registry.unregister(name)


@pytest.mark.usefixtures("_own_cells_are_forgotten")
@pytest.mark.parametrize("code", SNIPPETS)
def test_what_documents_show_runs(code, tmp_path, monkeypatch):
    """As printed, but for the sizes: a training of one iteration says as much as one of ten."""
    small = "num_iterations=1, num_envs=4, num_steps=16"
    code = code.replace("num_iterations=10", small).replace("num_envs=4096", "num_envs=4")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "a document", "exec"), {})


SHOWING = [name for name in DOCUMENTS if list_commands(TEXTS[name])]


@pytest.fixture(scope="module")
def renewed(tmp_path_factory, nursery):
    """A directory of the documents with what their commands print now."""
    # A process of its own, as users have: tests compile with less optimization, to other bits. What
    # is compiled may be shared; JAX keeps it apart by how it was compiled.
    directory = tmp_path_factory.mktemp("documents")
    command = ("-m", "tests.documents", *SHOWING, "--into", directory)
    done = nursery.start(*command, log=directory / "log", environment={"XLA_FLAGS": ""})
    assert done.wait() == 0, done.stderr
    return directory


@pytest.mark.parametrize("name", SHOWING)
def test_commands_print_what_documents_say(name, renewed):
    """`python -m tests.documents --rewrite` brings them up to date."""
    printed = (renewed / name).read_text(encoding="utf-8")
    here = (version("jaxlib"), jax.default_backend(), describe_machine()["cpu"])
    compare = str if here == MADE_ON else mask
    assert compare(printed) == compare(TEXTS[name])


@pytest.mark.parametrize("name", PAGES)
def test_every_file_and_section_that_documents_link_to_is_there(name):
    for file, section in re.findall(r"\]\((?!http)([^)#\s]*)#?([^)\s]*)\)", TEXTS[name]):
        path = (ROOT / name).parent / file if file else ROOT / name
        assert path.exists(), file
        assert not section or section in list_sections(path), f"{file}#{section}"


def list_sections(page):
    """The headings of a page, as links name them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings]


def test_nobody_is_told_to_install_what_is_not_released():
    for name, text in TEXTS.items():
        assert not re.search(r"pip install '?remanence", text), name
