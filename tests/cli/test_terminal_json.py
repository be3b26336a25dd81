"""Every command that prints facts prints them as one object of JSON, whose fields docs/reference/json.md lists."""

import json
import re
from pathlib import Path

import pytest

import garaph_py as gp
from garaph_py.cli.terminal import print_json
from tests.support.command import Shell

DOCUMENT = Path(__file__).parents[2] / "docs" / "reference" / "json.md"


@pytest.fixture
def garaph(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    return Shell(monkeypatch, capsys)


@pytest.fixture(scope="module")
def documented():
    """The fields of each command's object."""
    rows = re.findall(r"^\| (`.*?) \| (`.*) \|$", DOCUMENT.read_text(), re.MULTILINE)
    found = {}
    for commands, fields in rows:
        for command in re.findall(r"`(.*?)`", commands):
            found[command] = re.findall(r"`(.*?)`", fields)
    return found


@pytest.mark.slow
def test_every_command(garaph, documented, tmp_path):
    (tmp_path / "edges.tsv").write_text("a\tb\nb\tc\nc\ta\nd\ta\n")
    table3 = Path(__file__).parents[2] / "scripts" / "simulations" / "table3.toml"
    commands = [
        ("run", ["run", "PageRank", "edges.tsv", "--iterations", 1, "--output", "r.parquet", "--trace", "t.json"]),
        ("run --explain", ["run", "PageRank", "edges.tsv", "--explain"]),
        ("top", ["top", "r.parquet", "-k", 2]),
        ("apps", ["apps"]),
        ("import", ["import", "edges.tsv", "g"]),
        ("generate", ["generate", "rmat", "k", "--scale", 4]),
        ("info", ["info", "g"]),
        ("restripe", ["restripe", "k", "--disk", "."]),
        ("verify", ["verify", "g"]),
        ("convert", ["convert", "g", "b.npz"]),
        ("formats", ["formats"]),
        ("simulate --trace", ["simulate", "--trace", "t.json"]),
        ("simulate SPEC", ["simulate", table3, "--device", "cpu"]),
    ]  # fmt: skip
    for name, arguments in commands:
        status, out, err = garaph(*arguments, "--json")
        assert (status, err, out.count("\n")) == (0, "", 1), name
        assert list(json.loads(out)) == documented[name], name


def test_damage_is_an_object_too(garaph, documented, tmp_path):
    gp.save(gp.from_edges([0, 1], [1, 0]), "g")
    (block,) = (tmp_path / "g").glob("in_sources*data*")
    block.write_bytes(bytes(len(block.read_bytes())))
    status, out, _ = garaph("verify", "g", "--json")
    answer = json.loads(out)
    assert (status, answer["whole"]) == (1, False)
    assert "in_sources" in answer["problems"][0]


def test_numbers_that_json_lacks_are_null(capsys):
    print_json({"a": [float("nan"), {"b": float("inf")}], "c": (1.5, None)})
    assert json.loads(capsys.readouterr().out) == {"a": [None, {"b": None}], "c": [1.5, None]}
