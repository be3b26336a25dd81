"""Files that describe simulations: what is said of those that are wrong."""

from __future__ import annotations

import json
from pathlib import Path
from unittest import mock

import pytest

from garaph_py.dispatch.policy import POLICIES
from garaph_py.errors import FormatError, ParameterError
from garaph_py.simulation.spec import read_spec
from tests.support.command import Shell, garaph
from tests.support.programs import WITH_POLICY
from tests.support.simulated import MACHINE, SPEC


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(monkeypatch, capsys)


@pytest.mark.parametrize(("before", "after", "said"), [
    ('machine = "machine.toml"', "", "machine is missing"), ('"small"\np', '"large"\np', "runs 1: graph='large'"),
    ('"ConnectedComponents"', '"Components"', "Components"), ("active = [1.0, 0.5]", "active = []", "active is"),
    ("fade = 0.1", "fade = 2", "fade=2"), ("iterations = 4", "iterations = 0", "iterations=0"),
    ("{ cpu = 0.5 }", "{ tpu = 0.5 }", "published="), ("vertices = 1_000_000", "vertices = 0.5", "graphs.small"),
    ("active = [1.0, 0.5]", "active = [[1.0, 2]]", "active=2"), ("edges =", "lists = 2_000_000\nedges =", "lists=2"),
    ("active = [1.0, 0.5]", "active = [[1.0]]", "active=[1.0]"), ("edges =", "weighted = 1\nedges =", "weighted=1"),
    ("[[runs]]", "[[run]]", "'run'"), ('["cpu", "gpu"]', '["cpu", "tpu"]', "device='tpu'"),
    ('"rmat:10:8"', '"rmat:10"', "rmat:10"), ("[graphs.small]", "[layout]\nkeep = 1\n[graphs.small]", "keep=1"),
])  # fmt: skip
def test_what_is_wrong_with_a_spec_is_said(tmp_path, before, after, said):
    (tmp_path / "machine.toml").write_text(MACHINE)
    path = tmp_path / "spec.toml"
    path.write_text(SPEC)
    shares = [one.active / 1e6 for one in read_spec(path).runs[0].workload.activities]
    assert shares == pytest.approx([1.0, 0.5, 0.05, 0.005])
    path.write_text(SPEC.replace(before, after))
    with pytest.raises((ParameterError, FormatError)) as error:
        read_spec(path)
    assert said in str(error.value)


def test_numbers_of_a_graph(tmp_path: Path) -> None:
    """Active vertices, and other shares of edges that leave them; vertices with in-edges, and edge values."""
    (tmp_path / "machine.toml").write_text(MACHINE)
    path = tmp_path / "spec.toml"
    path.write_text(
        SPEC.replace("[1.0, 0.5]", "[[0.5, 1.0], [0.25, 0.125]]").replace("edges = 16", "lists = 9_000\nedges = 16")
    )
    found = read_spec(path).runs[0].workload
    assert [(one.active, one.active_edges) for one in found.activities] == [
        (500_000, 16_000_000), (250_000, 2_000_000), (25_000, 200_000), (2_500, 20_000)
    ]  # fmt: skip
    assert found.shape.lists == 9_000
    path.write_text(path.read_text().replace('"ConnectedComponents"', '{ name = "SSSP", source = 0 }'))
    assert read_spec(path).runs[0].workload.edge_bytes == 4
    path.write_text(path.read_text().replace("edges = 16", "weighted = true\ndirected = false\nedges = 16"))
    found = read_spec(path).runs[0].workload
    assert (found.edge_bytes, found.directed) == (8, False)


@pytest.mark.slow
@pytest.mark.parametrize(("program", "said"), [
    ('{ name = "BFS", source = 0 }', 'in each iteration, or active = "run" for a graph with a source'),
    ('{ name = "SSSP", source = 0 }', 'in each iteration, or active = "run" for a graph with a source'),
    ('{ name = "PenalizedHittingProbability", query = 0 }', "in each iteration"),  # no relaxation
])  # fmt: skip
@pytest.mark.parametrize("fade", ["", "fade = 0.1\n"])
def test_a_search_needs_the_shares_of_its_frontier(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    program: str,
    said: str,
    fade: str,
) -> None:
    """With all vertices active, all would be reached, and the search would take no time."""
    (tmp_path / "machine.toml").write_text(MACHINE)
    spec = tmp_path / "spec.toml"
    text = SPEC.replace('"ConnectedComponents"', program).replace("fade = 0.1\n", fade)
    spec.write_text(text.replace("active = [1.0, 0.5]\n", ""))
    with pytest.raises(ParameterError) as error:
        read_spec(spec)
    assert "runs 1: active is missing: " in str(error.value)
    assert str(error.value).endswith(said)
    assert garaph(monkeypatch, "simulate", spec) == 1
    assert "runs 1: active is missing" in capsys.readouterr().err
    spec.write_text(text)
    assert read_spec(spec).runs[0].workload.activities[1].active == 500_000


def test_a_graph_that_is_given_by_numbers_has_no_vertices_to_name(tmp_path: Path) -> None:
    (tmp_path / "machine.toml").write_text(MACHINE)
    spec = tmp_path / "spec.toml"
    spec.write_text(SPEC.replace('"ConnectedComponents"', '{ name = "BFS", source = "largest" }'))
    message = r"runs 1: graph '.*' is given by numbers, .*; write 0 for a vertex of BFS"
    with pytest.raises(ParameterError, match=message):
        read_spec(spec)


def test_programs_that_begin_with_all_vertices_need_no_shares(tmp_path: Path) -> None:
    (tmp_path / "machine.toml").write_text(MACHINE)
    spec = tmp_path / "spec.toml"
    for program in ("ConnectedComponents", "PageRank", "DeltaPageRank"):
        spec.write_text(SPEC.replace("ConnectedComponents", program).replace("active = [1.0, 0.5]\nfade = 0.1\n", ""))
        assert [one.active for one in read_spec(spec).runs[0].workload.activities] == [1_000_000] * 4


@pytest.mark.parametrize("in_spec", [False, True])
def test_a_programs_file_may_register_an_engine(tmp_path, monkeypatch, capsys, in_spec):
    (tmp_path / "machine.toml").write_text(MACHINE)
    (tmp_path / "mine.py").write_text(WITH_POLICY)
    spec = tmp_path / "spec.toml"
    chosen = ["simulate", spec, "--device", "cpu"] + ["--engine", "always-pull"] * (not in_spec)
    with mock.patch.dict(POLICIES):
        spec.write_text('engine = "always-pull"\n' * in_spec + SPEC)
        assert garaph(monkeypatch, *chosen) == 1
        assert "choose from auto, garaph" in capsys.readouterr().err
        spec.write_text(spec.read_text().replace("ConnectedComponents", "mine.py:Reach"))
        assert garaph(monkeypatch, *chosen) == 0
    assert "notify-pull" not in capsys.readouterr().out


@pytest.mark.parametrize(("given", "said"), [
    ("[]", "at least one device and one engine"), ("3", "engine=3"), ('["auto", "best"]', "engine='best'"),
    ('["auto", "grus"]', "engine='grus' cannot be simulated"),
])  # fmt: skip
def test_a_wrong_engine_of_a_list_is_named(tmp_path: Path, given: str, said: str) -> None:
    (tmp_path / "machine.toml").write_text(MACHINE)
    (tmp_path / "spec.toml").write_text(f"engine = {given}\n{SPEC}")
    with pytest.raises(ParameterError) as error:
        read_spec(tmp_path / "spec.toml")
    assert said in str(error.value)


def test_each_run_is_simulated_under_each_engine(tmp_path: Path, shell: Shell) -> None:
    """As under that engine alone; --engine takes the place of all."""
    (tmp_path / "machine.toml").write_text(MACHINE)
    spec, found = tmp_path / "spec.toml", {}
    for engine in '"auto"', '"garaph"', '["auto", "garaph"]':
        spec.write_text(f"engine = {engine}\n{SPEC}")
        found[engine] = json.loads(shell("simulate", spec, "--json")[1])["runs"]
    alone, together = [*found['"auto"'], *found['"garaph"']], found['["auto", "garaph"]']
    assert together == alone
    assert [(run["engine"], run["device"]) for run in together] == [
        ("auto", "cpu"), ("auto", "gpu"), ("garaph", "cpu"), ("garaph", "gpu")
    ]  # fmt: skip
    assert alone[0]["seconds"] != alone[2]["seconds"]
    lines = shell("simulate", spec)[1].splitlines()
    assert [line.split()[:4] for line in lines[:3]] == [
        ["graph", "program", "engine", "device"], ["small", "ConnectedComponents", "auto", "cpu"],
        ["small", "ConnectedComponents", "auto", "gpu"],
    ]  # fmt: skip
    assert {run.engine for run in read_spec(spec, engine="garaph").runs} == {"garaph"}
