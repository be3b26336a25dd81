"""What the documentation shows, works; and the reference is complete."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import garaph_py as gp

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
REFERENCE = "".join(path.read_text() for path in sorted((DOCS / "reference").glob("*.*")))
CODE = re.compile(r"^```(?:\{code-cell\} )?python\n(.*?)^```", re.DOTALL | re.MULTILINE)
PAGES = [path for path in sorted(DOCS.rglob("*.md")) if CODE.search(path.read_text())]
GALLERY = sorted((DOCS / "gallery").glob("*.py"))


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_python_of_a_page_runs(page: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The blocks of a page run in one namespace, as in a notebook, in a copy of the checkout's data folder."""
    pytest.importorskip("matplotlib").use("agg")
    (tmp_path / "data").symlink_to(ROOT / "data")
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__main__"}
    for block in CODE.findall(page.read_text()):
        exec(compile(block, page.name, "exec", dont_inherit=True), namespace)


@pytest.mark.parametrize("name", gp.__all__)
def test_public_names_are_in_the_reference(name: str) -> None:
    assert re.search(rf"^\s*(?:\* - )?(?:\.\. \w+:: (?:garaph_py\.)?)?{name}$", REFERENCE, re.MULTILINE)


@pytest.mark.parametrize("name", gp.apps.__all__)
def test_programs_are_in_the_reference(name: str) -> None:
    assert f"\n   {name}\n" in REFERENCE


def test_gallery_is_short_and_has_real_data() -> None:
    assert len(GALLERY) >= 10
    texts = {path.stem: path.read_text() for path in GALLERY}
    assert {name for name, text in texts.items() if len(text.splitlines()) > 40} == set()
    assert sum("debian-sid-deps" in text for text in texts.values()) >= 3
