"""The GPU's memory as a share of a graph."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import garaph_py as gp
from garaph_py import experiment
from garaph_py.experiment.budget import VERTEX_BYTES, read_bytes, sized, without_share

WEIGHTED = gp.rmat(6, 4, weights=(1, 64))


def test_a_share_is_of_the_edges_that_the_program_reads() -> None:
    search, distances = gp.apps.BFS(WEIGHTED.ids[0]), gp.apps.SSSP(WEIGHTED.ids[0])
    assert read_bytes(search, WEIGHTED) == 4 * WEIGHTED.m
    assert read_bytes(distances, WEIGHTED) == (4 + np.dtype(np.int32).itemsize) * WEIGHTED.m
    given = {"gpu_memory": "1/4", "device": "gpu"}
    vertices = VERTEX_BYTES * WEIGHTED.n
    assert sized(given, search, WEIGHTED) == {"gpu_memory": WEIGHTED.m + vertices, "device": "gpu"}
    assert sized(given, distances, WEIGHTED) == {"gpu_memory": 2 * WEIGHTED.m + vertices, "device": "gpu"}


@pytest.mark.parametrize("given", [{"gpu_memory": "2GiB"}, {"gpu_memory": 1 << 20}, {"gpu_memory": None}, {}])
def test_sizes_stay_as_they_are(given: dict[str, Any]) -> None:
    assert sized(given, gp.apps.BFS(WEIGHTED.ids[0]), WEIGHTED) == given == without_share(given)


def test_a_share_waits_for_the_graph() -> None:
    assert without_share({"gpu_memory": "1/4", "device": "gpu"}) == {"device": "gpu"}


@pytest.mark.parametrize("text", ["1/0", "1/x", "3/4", "quarter"])
def test_what_is_no_share_is_an_error_in_the_results(spec_of: Any, no_machine: None, tmp_path: Path, text: str) -> None:
    spec = f"repeats = 1\nwarmups = 0\n[sweep]\ngraph = 'rmat:6:4'\nprogram = 'PageRank'\ngpu_memory = '{text}'"
    (row,) = experiment.run(spec_of(spec), tmp_path / "out")
    assert f"gpu_memory='{text}': give a size" in row["error"]
