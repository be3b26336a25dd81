"""Sources that a spec describes: which vertices they are, and what the results say of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import garaph_py as gp
from garaph_py import experiment
from garaph_py.errors import GraphError, ParameterError
from garaph_py.experiment.sources import Pick, picks

SPEC = """
repeats = 2
warmups = 0
[sweep]
program = [{ name = "BFS", source = "random:5" }, { name = "SSSP", source = "random:5" }]
graph = "rmat:8:4:weights=1..9"
threads = [1, 2]
"""


def test_random_sources_are_seeded_and_have_out_edges(spec_of: Any, no_machine: None, tmp_path: Path) -> None:
    graph = gp.rmat(8, 4, weights=(1, 9))
    rows = experiment.run(spec_of(SPEC), tmp_path / "out")
    assert len(rows) == 2 * 5 * 2 * 2
    by_setting: dict[Any, list[Any]] = {}
    for row in sorted(rows, key=lambda row: (row["combination"], row["repeat"])):
        assert row["source_edges"] == graph.out_degree(int(row["source"])) > 0
        assert row["parameters"] == "source=random:5"
        by_setting.setdefault((row["program"], row["threads"], row["repeat"]), []).append(row["source"])
    (first, *others) = by_setting.values()
    assert len(set(first)) == 5
    assert all(other == first for other in others)  # programs and settings are compared over the same sources
    again = experiment.run(spec_of("seed = 2\n" + SPEC), tmp_path / "other")
    assert {row["source"] for row in again} != set(first)


def test_the_largest_source_has_the_most_out_edges(spec_of: Any, no_machine: None, tmp_path: Path) -> None:
    (tmp_path / "edges.tsv").write_text("a\tb\nb\tc\nb\td\n")
    text = SPEC.replace('"random:5"', '"largest"').replace("rmat:8:4:weights=1..9", "edges.tsv")
    rows = experiment.run(spec_of(text), tmp_path / "out")
    assert {(row["source"], row["source_edges"], row["error"]) for row in rows} == {("b", 2, None)}


def test_sources_that_lead_nowhere_are_noticed(spec_of: Any, no_machine: None, tmp_path: Path) -> None:
    """One source has no out-edges; from the other one reaches two of 1,000 vertices."""
    edges = ["0\t1\n"] + [f"{k}\t{k + 1}\n" for k in range(2, 999)]
    (tmp_path / "edges.tsv").write_text("".join(edges))
    text = "repeats = 1\n[sweep]\ngraph = 'edges.tsv'\nprogram = [" + ", ".join(
        f"{{ name = 'BFS', source = {source} }}" for source in (1, 0, 2)
    )
    rows = experiment.run(spec_of(text + "]"), tmp_path / "out")
    notes = {row["source"]: row["note"] for row in rows}
    assert notes == {
        "1": 'source 1 has no out-edges; take source = "largest" or "random:20"',
        "0": 'source 0 reached 2 of 1,000 vertices; take source = "largest" or "random:20"',
        "2": None,
    }
    said = [one["notes"] for one in experiment.summary(spec_of(text + "]"), rows)]
    assert [len(those) for those in said] == [1, 1, 0]


def test_of_random_sources_no_others_are_proposed(spec_of: Any, no_machine: None, tmp_path: Path) -> None:
    (tmp_path / "edges.tsv").write_text("".join(f"{2 * k}\t{2 * k + 1}\n" for k in range(200)))
    spec = spec_of("repeats = 1\n[sweep]\ngraph = 'edges.tsv'\nprogram = {name = 'BFS', source = 'random:2'}\n")
    rows = experiment.run(spec, tmp_path / "out")
    assert [row["note"] for row in rows] == [f"source {row['source']} reached 2 of 400 vertices" for row in rows]


def test_a_graph_with_too_few_sources_is_a_row(spec_of: Any, no_machine: None, tmp_path: Path) -> None:
    (tmp_path / "edges.tsv").write_text("1\t2\n2\t3\n")
    rows = experiment.run(spec_of(SPEC.replace("rmat:8:4:weights=1..9", "edges.tsv")), tmp_path / "out")
    assert {row["error"] for row in rows} == {
        "only 2 of 3 vertices have out-edges; ask for 2 at most, or take another graph"
    }
    with pytest.raises(GraphError, match="only 0 of 2 vertices have out-edges; take another graph"):
        Pick("source", 0, 0, 1).of(gp.rmat(1, 0))


def test_only_vertices_are_described() -> None:
    assert list(picks(gp.apps.PageRank, {"stop": "largest"}, 1)) == [()]
    assert list(picks(gp.apps.BFS, {"source": 3}, 1)) == [()]
    assert list(picks(gp.apps.BFS, {"source": "largest"}, 1)) == [(Pick("source", 0, 0, 1),)]
    with pytest.raises(ParameterError, match='write "random:COUNT" with 1 to 10000'):
        list(picks(gp.apps.BFS, {"source": "random:10001"}, 1))


def test_medians_over_sources_say_so(spec_of: Any, no_machine: None, tmp_path: Path) -> None:
    spec = spec_of(SPEC)
    found = list(experiment.summary(spec, experiment.run(spec, tmp_path / "out")))
    assert [(one["settings"], one["sources"]) for one in found] == [
        ({"program": program, "threads": threads}, 5) for program in ("BFS", "SSSP") for threads in (1, 2)
    ]
    assert len(pq.read_table(tmp_path / "out" / "results.parquet")) == 40
    assert all(np.isfinite(one["seconds"]["median"]) for one in found)
