"""The structure of the project: imports run downwards, files and functions stay small, tests mirror modules.

Everything here reads source text. Only the test of the scripts' names imports the package.
"""

from __future__ import annotations

import ast
import configparser
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

import garaph_py

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "garaph_py"

LAYERS = (
    ("__main__", "cli", "networkx_backend"),
    ("simulation", "experiment"),
    ("algorithms",),
    ("cluster", "runtime"),
    ("dispatch", "checkpoint", "output"),
    ("executor",),
    ("io",),
    ("apps", "pages", "storage"),
    ("program", "graph", "codec"),
    ("native", "system"),
    ("errors", "events"),
)
"""The package's layers, from the top one down; docs/architecture.md has the same table. A module may import from its
own folder, from folders further to the right on its layer, and from all layers below."""

AT_THE_ROOT = {"__init__", "__main__", "errors", "events"}
LINES_OF_A_FILE = 500
LINES_OF_A_FUNCTION = 60
"""Its docstring does not count. A longer function says why in a comment ``# long: ...`` above or beside its ``def``."""
PARAMETERS = 7
"""`self` and `cls` do not count. A function that has more says why in a comment ``# wide: ...`` there."""

HELPERS = {"support", "trial"}
"""Folders in tests/ that do not mirror one of the package: what tests share, and trials of the package's seams."""
SUITES = {"test_conformance"}
"""Tests that go through every implementation of a protocol in their folder, whatever module it is in."""


class Import(NamedTuple):
    """One module that names another, both with their full names."""

    importer: str
    imported: str

    def __str__(self) -> str:
        return f"{self.importer} -> {self.imported}"


class Function(NamedTuple):
    """A function, and the comments above its ``def`` and on that line."""

    name: str
    lines: int
    parameters: int
    comments: tuple[str, ...]


@cache
def modules() -> dict[str, Path]:
    """Every module of the package by its full name; a package is its ``__init__``."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def imports_of(name: str) -> Iterator[Import]:
    """What a module imports of the package, also inside functions and for type checkers only."""
    path = modules()[name]
    folder = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            yield from (Import(name, alias.name) for alias in node.names if alias.name.split(".")[0] == PACKAGE.name)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(folder[: len(folder) - node.level + 1]) if node.level else ""
            source = ".".join(filter(None, (base, node.module)))
            if source.split(".")[0] == PACKAGE.name:
                for alias in node.names:
                    whole = f"{source}.{alias.name}"
                    yield Import(name, whole if whole in modules() else source)


@cache
def imports() -> tuple[Import, ...]:
    """All imports within the package, but those of its facade, ``garaph_py/__init__.py``, and of its version there."""
    found = (one for name in modules() if name != PACKAGE.name for one in imports_of(name))
    return tuple(sorted({one for one in found if one.imported not in (PACKAGE.name, one.importer)}))


def folder_of(module: str) -> str:
    """The part of the package that a module belongs to, as `LAYERS` names it."""
    return module.split(".")[1]


def place_of(module: str) -> tuple[int, int]:
    """Where in `LAYERS` a module is: its layer, counted from the top, and how far to the right."""
    for layer, folders in enumerate(LAYERS):
        if folder_of(module) in folders:
            return layer, folders.index(folder_of(module))
    raise AssertionError(f"{module} is on no layer; name its folder in LAYERS")


def circles() -> set[str]:
    """Groups of modules that import one another, each as its names in order."""
    reached = {name: {one.imported for one in imports() if one.importer == name} for name in modules()}
    for middle in modules():  # the transitive closure
        for name in modules():
            if middle in reached[name]:
                reached[name] |= reached[middle]
    groups = {frozenset(b for b in reached[a] if a in reached.get(b, ())) for a in modules() if a in reached[a]}
    return {", ".join(sorted(group)) for group in groups}


def comments_above(lines: list[str], number: int) -> Iterator[str]:
    """The comments right above the line of that number."""
    for line in reversed(lines[: number - 1]):
        if not line.strip().startswith("#"):
            return
        yield line.strip()


def functions_of(path: Path) -> Iterator[Function]:
    lines = path.read_text().splitlines()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = node.end_lineno - node.lineno + 1
            if ast.get_docstring(node, clean=False) is not None:
                length -= node.body[0].end_lineno - node.body[0].lineno + 1
            given = node.args
            names = [one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
            count = len(names) - (names[:1] in (["self"], ["cls"])) + bool(given.vararg) + bool(given.kwarg)
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            comments = {line for start in (first, node.lineno) for line in comments_above(lines, start)}
            beside = lines[node.lineno - 1].partition("#")
            comments.add("".join(beside[1:]))
            yield Function(f"{path.relative_to(ROOT)}: {node.name}", length, count, tuple(sorted(comments)))


@cache
def sources() -> tuple[Path, ...]:
    """The files that the rules about sizes hold for: the package's, the scripts, and what tests share."""
    others = (path for folder in ("scripts", "tests/support") for path in sorted((ROOT / folder).rglob("*.py")))
    return (*modules().values(), *others)


@cache
def functions() -> tuple[Function, ...]:
    return tuple(function for path in sources() for function in functions_of(path))


def says_why(function: Function, word: str) -> bool:
    """Whether a comment above the function begins with the word and gives a reason."""
    return any(line.startswith(f"# {word}: ") for line in function.comments)


def upwards() -> set[str]:
    between = (one for one in imports() if folder_of(one.importer) != folder_of(one.imported))
    return {str(one) for one in between if place_of(one.importer) >= place_of(one.imported)}


def large_files() -> set[str]:
    lengths = {path: len(path.read_text().splitlines()) for path in sources()}
    return {str(path.relative_to(ROOT)) for path, length in lengths.items() if length > LINES_OF_A_FILE}


def long_functions() -> set[str]:
    return {one.name for one in functions() if one.lines > LINES_OF_A_FUNCTION and not says_why(one, "long")}


def wide_functions() -> set[str]:
    return {one.name for one in functions() if one.parameters > PARAMETERS and not says_why(one, "wide")}


RULES = {
    "imports run downwards": upwards,
    "no circles": circles,
    "small files": large_files,
    "short functions": long_functions,
    "few parameters": wide_functions,
}


@pytest.mark.slow
@pytest.mark.parametrize("broken", RULES.values(), ids=RULES)
def test_rules_are_kept(broken):
    assert broken() == set()


def test_only_few_modules_are_at_the_root():
    assert {path.stem for path in PACKAGE.glob("*.py")} == AT_THE_ROOT


def test_every_folder_has_a_layer():
    named = [folder for layer in LAYERS for folder in layer]
    packages = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert sorted(named) == sorted(packages | AT_THE_ROOT - {"__init__"})


def test_architecture_has_these_layers():
    """Its table has a row for each layer, with the layer's number and its folders."""
    text = (ROOT / "docs" / "architecture.md").read_text()
    rows = re.findall(r"^\| (\d+) \| ([^|]*) \|", text, flags=re.MULTILINE)
    assert [int(number) for number, _ in rows] == list(range(len(LAYERS)))[::-1]
    assert [tuple(re.findall(r"`(\w+)`", folders)) for _, folders in rows] == list(LAYERS)


def test_every_package_is_installed():
    settings = configparser.ConfigParser()
    settings.read(ROOT / "setup.cfg")
    listed = settings["options"]["packages"].split()
    packages = {name for name, path in modules().items() if path.name == "__init__.py"}
    assert sorted(listed) == sorted(packages | {"garaph_py.kernels"})


def test_tests_mirror_the_package():
    """A test file is named after a module of the folder that it mirrors, perhaps with what it tests of the module."""
    lost = []
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        folder = path.parent.relative_to(ROOT / "tests")
        if folder.parts[:1] == () or folder.parts[0] in HELPERS or path.stem in SUITES:
            continue
        names = [module.stem.rstrip("_") for module in (PACKAGE / folder).glob("*.py")] + [folder.name]
        subject = path.stem.removeprefix("test_")
        if not any(subject == name or subject.startswith(f"{name}_") for name in names):
            lost.append(str(path.relative_to(ROOT)))
    assert not lost


def test_no_test_imports_another():
    """What tests share is in tests/support or in a conftest."""
    found = []
    for path in sorted((ROOT / "tests").rglob("*.py")):
        if not re.search(
            r"^ *from [\w.]*\btest_", path.read_text(), flags=re.MULTILINE
        ):  # parsing all takes four seconds
            continue
        named = (node.module or "" for node in ast.walk(tree_of(path)) if isinstance(node, ast.ImportFrom))
        found += [f"{path.relative_to(ROOT)}: {name}" for name in named if name.rpartition(".")[2].startswith("test_")]
    assert not found


def test_scripts_use_names_that_exist():
    """Neither a linter nor a type checker knows which names `garaph_py` loads when they are asked for."""
    lost = []
    for path in sorted((ROOT / "scripts").rglob("*.py")):
        for node in ast.walk(tree_of(path)):
            match node:
                case ast.Attribute(value=ast.Name(id="gp"), attr=name):
                    lost += [f"{path.relative_to(ROOT)}: gp.{name}"] * (not hasattr(garaph_py, name))
    assert not lost
