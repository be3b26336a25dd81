"""What the documentation shows, works; and the reference is complete."""

from __future__ import annotations

import inspect
import os
import re
import runpy
import sys
from dataclasses import fields
from pathlib import Path
from unittest import mock

import pytest
import typer

import garaph_py as gp
from garaph_py.cli.commands import app
from garaph_py.dispatch.policy import POLICIES, GaraphPolicy
from tests.support.command import garaph

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
REFERENCE = "".join(path.read_text() for path in sorted((DOCS / "reference").glob("*.*")))
CODE = re.compile(r"^```(?:\{code-cell\} )?python\n(.*?)^```", re.DOTALL | re.MULTILINE)
PAGES = [path for path in sorted(DOCS.rglob("*.md")) if CODE.search(path.read_text())]
OTHERS = ("engines", "many", "memory", "networkx", "programs")
"""Pages whose code does what tests do too, and compiles up to forty kernels of its own."""
GALLERY = sorted((DOCS / "gallery").glob("*.py"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=pytest.mark.full if page.stem in OTHERS else (), id=page.stem) for page in PAGES],
)
def test_python_of_a_page_runs(page: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The blocks of a page run in one namespace, as in a notebook, in a copy of the checkout's data folder."""
    if "pyplot" in page.read_text():
        pyplot = pytest.importorskip("matplotlib.pyplot")
        pyplot.switch_backend("agg")
        monkeypatch.setattr(pyplot, "show", lambda: pyplot.close("all"))
    (tmp_path / "data").symlink_to(ROOT / "data")
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__main__"}
    with mock.patch.dict(POLICIES):  # one page registers its own
        for block in CODE.findall(page.read_text()):
            exec(compile(block, page.name, "exec", dont_inherit=True), namespace)


@pytest.mark.slow
def test_the_tutorial_s_policy_is_replayed_as_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """All columns but those of times."""
    text = (DOCS / "scheduling.md").read_text()
    policy, run = (next(one for one in CODE.findall(text) if name in one) for name in ("class Patient", "run.json"))
    (tmp_path / "mine.py").write_text(f"import garaph_py as gp\n\n\n{policy}")
    monkeypatch.chdir(tmp_path)
    with mock.patch.dict(POLICIES):
        exec(f"import garaph_py as gp\n\n{policy}\n{run}", {"__name__": "__main__"})
        capsys.readouterr()
        assert garaph(monkeypatch, "simulate", "--trace", "run.json", "--engine", "mine.py:Patient") == 0
    row = re.compile(r"^ *(\d+)  (?:(\w+) +(\S+) +(\S+) +(\S+) +1|(cpu \w+) +\S+  (cpu \w+)) ", re.MULTILINE)
    shown = row.findall(text)
    assert row.findall(capsys.readouterr().out) == shown
    assert len(shown) == 2 * 7


def test_simulations_are_measured_with_the_documentation_s_policies(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.syspath_prepend(ROOT / "scripts")
    from bench_simulation import ENGINES, engine_of

    with mock.patch.dict(POLICIES):
        found = {name: type(gp.Options(engine=engine_of(name, tmp_path)).policy).__name__ for name in ENGINES}
    assert found == {"garaph": "GaraphPolicy", "auto": "AutoPolicy", "tutorial": "Patient", "measured": "Measured"}


@pytest.mark.parametrize("library", ["igraph", "networkit"])
@pytest.mark.filterwarnings("ignore")  # they are theirs
def test_a_line_hands_a_graph_over(library: str) -> None:
    """Two separate cliques come out as two communities, where the library is installed."""
    lines = [line.strip() for line in (DOCS / "reference" / "algorithms.md").read_text().splitlines()]
    place = next(at for at, line in enumerate(lines) if line.startswith(f"theirs = {library}."))
    one, other = zip(*[(u, v) for u in "abcd" for v in "abcd" if u < v], strict=True)
    graph = gp.from_edges([*one, *map(str.upper, one)], [*other, *map(str.upper, other)], directed=False)
    names = {"graph": graph, library: pytest.importorskip(library)}
    exec("\n".join(lines[place : place + 2]), names)
    found = names["communities"]
    labels = found.membership if library == "igraph" else found.getVector()
    vertices = names["theirs"].vs["name"] if library == "igraph" else list(graph.ids)
    assert {label for label, name in zip(labels, vertices, strict=True) if name.islower()} == {
        labels[vertices.index("a")]
    }
    assert len(set(labels)) == 2


def test_pages_are_in_the_contents() -> None:
    contents = "".join((DOCS / f"{name}.md").read_text() for name in ("index", "guide", "internals"))
    pages = {path.stem for path in DOCS.glob("*.md")} - {"index"}
    assert {page for page in pages if not re.search(rf"^(.*<)?{page}>?$", contents, re.MULTILINE)} == set()


def test_links_lead_to_files_of_the_repository() -> None:
    """GitHub shows these files, and knows nothing of the pages that are made while the site is built."""
    lost = []
    for page in (*ROOT.glob("*.md"), *DOCS.rglob("*.md")):
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            made = any(name in link for name in ("auto_gallery", "generated"))
            lost += [f"{page.name}: {link}"] * (made or not (page.parent / link).exists())
    assert not lost


@pytest.mark.parametrize("name", gp.__all__)
def test_public_names_are_in_the_reference(name: str) -> None:
    assert re.search(rf"^(   |\.\. data:: |:doc:`garaph_py\.){name}\b", REFERENCE, re.MULTILINE)


def test_programs_are_in_the_reference() -> None:
    page = (DOCS / "reference" / "programs.md").read_text()
    assert set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)) == set(gp.apps.__all__)
    assert set(re.findall(r"^   (\w+)$", page, re.MULTILINE)) == set(gp.apps.__all__)


def test_algorithms_are_in_the_reference() -> None:
    page = (DOCS / "reference" / "algorithms.md").read_text()
    assert set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)) == set(gp.algorithms.__all__)
    assert set(re.findall(r"^   (\w+)$", page, re.MULTILINE)) == set(gp.algorithms.__all__)


def test_help_names_no_file_that_an_installed_package_lacks() -> None:
    texts = [inspect.getdoc(getattr(gp, name)) or "" for name in gp.__all__]
    texts += [inspect.getdoc(member) or "" for kind in (gp.Graph, gp.Result) for _, member in inspect.getmembers(kind)]
    texts += [inspect.getdoc(getattr(home, name)) or "" for home in (gp.apps, gp.algorithms) for name in home.__all__]
    for command in vars(typer.main.get_command(app))["commands"].values():
        texts += [command.help or "", *(getattr(option, "help", None) or "" for option in command.params)]
    assert [found for text in texts for found in re.findall(r"docs/[\w./]+", text)] == []


def test_commands_are_in_the_reference() -> None:
    page = (DOCS / "reference" / "commands.md").read_text()
    assert set(re.findall(r"^\| `garaph (\w+)", page, re.MULTILINE)) == {
        command.name for command in app.registered_commands
    }


def test_the_gallery_finds_its_data_from_its_folder_and_from_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", os.environ.copy())
    monkeypatch.setattr(sys, "path", [*sys.path])
    settings = runpy.run_path(str(DOCS / "conf.py"))["sphinx_gallery_conf"]
    assert "docs/gallery of a checkout" in settings["first_notebook_cell"]
    read = {found for path in GALLERY for found in re.findall(r"\.read\(\"(.*?)\"", path.read_text())}
    assert read
    assert all((folder / name).exists() for name in read for folder in (ROOT, DOCS / "gallery"))


def test_gallery_is_short_and_has_real_data() -> None:
    texts = {path.stem: path.read_text() for path in GALLERY}
    assert len(texts) >= 10
    assert {name for name, text in texts.items() if len(text.splitlines()) > 40} == set()
    assert sum("debian-sid-deps" in text or "nx." in text for text in texts.values()) >= 3


def test_the_paper_s_statements_name_what_exists() -> None:
    """A file without a folder is in the folder of the file before it. Each switch of the engine is an option."""
    text = (DOCS / "garaph.md").read_text()
    rows = re.findall(r"^\| [\d.]+(?:, [\d.]+)? \|.*\|$", text, re.MULTILINE)
    assert len(rows) == 28
    options = ""
    for row in rows:
        _, section, statement, modules, how, option, tests, _ = (cell.strip() for cell in row.split("|"))
        assert all((section, statement, modules, how, tests))
        options += option
        for cell, root in (modules, ROOT / "garaph_py"), (tests, ROOT / "tests"):
            folder = root
            for name in re.findall(r"`([^`]+)`", cell):
                place = ROOT if name.startswith("kernels/") else root
                folder = (place / name).parent if "/" in name else folder
                assert (folder / Path(name).name).is_file(), name
    switches = dict(re.findall(r"`garaph:(\w+)=(\w+)`", options))
    assert switches.keys() == {field.name for field in fields(GaraphPolicy)}
    for name, value in switches.items():
        assert getattr(gp.Options(engine=f"garaph:{name}={value}").policy, name) is (value == "yes")
        assert getattr(GaraphPolicy(), name) is (value == "no")
