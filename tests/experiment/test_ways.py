"""Pages by the way in which their edges reached a processor, and their shares in a figure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import garaph_py as gp
from garaph_py import experiment
from garaph_py.events import Iteration, PageGroup
from garaph_py.executor.modes import BOTH, CPU, GPU, PULL, PUSH
from garaph_py.experiment import kinds
from garaph_py.experiment.ways import COLUMNS, moved_bytes, pages_by_way
from tests.support.numpy_gpu import Lengths

SPEC = """
repeats = 1
warmups = 0
[sweep]
program = { name = "SSSP", source = "largest" }
graph = "rmat:6:4:weights"
engine = "auto"
[[plots]]
name = "ways"
table = "iterations"
kind = "stack"
x = "iteration"
y = ["pages_zero_copy", "pages_cpu"]
panels = "engine"
"""


def record(*groups: PageGroup) -> Iteration:
    return Iteration(0, PUSH, 0.5, 1, 2, 3, 0, 1.0, groups=groups)


def test_bytes_that_the_driver_moves_are_not_known() -> None:
    copied = record(PageGroup(PUSH, GPU, "copied", 1, 9))._replace(to_device=36)
    assert moved_bytes([copied, copied]) == 72
    assert moved_bytes([copied, record(PageGroup(PUSH, GPU, "unified", 1, 9))]) is None


def test_pages_are_counted_by_way() -> None:
    row = pages_by_way(record(
        PageGroup(PUSH, GPU, "copied", 5, 50), PageGroup(PUSH, GPU, "compacted", 4, 40),
        PageGroup(PUSH, GPU, "zero-copy", 3, 30), PageGroup(PULL, GPU, "resident", 2, 20),
        PageGroup(PULL, GPU, "copied", 10, 1), PageGroup(PULL, CPU, None, 1, 10), PageGroup(PUSH, GPU, "unified", 6, 1),
        PageGroup(PULL, BOTH, None, 7, 70), PageGroup(PULL, GPU, None, 1, 70),
    ))  # fmt: skip
    assert row == {
        "pages_copied": 15, "pages_compacted": 4, "pages_zero_copy": 3, "pages_unified": 6, "pages_resident": 2,
        "pages_cpu": 1, "pages_unknown": 8,
    }  # fmt: skip
    assert tuple(row) == COLUMNS
    assert set(pages_by_way(record()).values()) == {0}


def test_a_stack_has_shares(spec_of: Any) -> None:
    matplotlib = pytest.importorskip("matplotlib.figure")
    from garaph_py.experiment.plots import stack
    from garaph_py.experiment.points import panels_of

    (figure,) = spec_of(SPEC).plots
    row = {"combination": 0, "graph": "g", "engine": "auto", "error": None}
    pages = [(0, 3, 1), (1, 0, 4), (2, 0, 0)]
    rows = [row | {"iteration": number, "pages_zero_copy": far, "pages_cpu": cpu} for number, far, cpu in pages]
    axes = matplotlib.Figure().subplots()
    stack(axes, panels_of(figure, rows)["auto"])
    far, cpu = ([(bar.get_y(), bar.get_height()) for bar in bars] for bars in axes.containers)
    assert far == [(0, 0.75), (0, 0), (0, 0)]
    assert cpu == [(0.75, 0.25), (0, 1), (0, 0)]  # the last iteration had no pages


def test_a_run_on_the_cpu(spec_of: Any, no_machine: None, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    spec = spec_of(SPEC)
    experiment.run(spec, tmp_path / "out")
    tables = experiment.measure.Tables(spec, tmp_path / "out")
    tables.load()
    rows = tables.rows[kinds.ITERATIONS]
    assert any(row["pages_cpu"] for row in rows)
    assert all(row["pages_cpu"] == row["pages"] for row in rows)
    assert (tmp_path / "out" / "ways.png").read_bytes().startswith(b"\x89PNG")


def test_hytgraphs_partitions_on_a_simulated_gpu(device_with_lists: Any) -> None:
    draw = np.random.default_rng(7)
    ends = draw.integers(0, 3000, (2, 12000))
    graph = gp.from_edges(*ends, draw.integers(1, 20, 12000).astype(np.int32), vertices=range(3000), directed=True)
    program = Lengths(0)
    for transfers, column in (("copied", "pages_copied"), ("compacted", "pages_compacted")):
        device_with_lists(program, graph)
        options = gp.Options(engine=f"hytgraph:partition_bytes=2048,transfers={transfers}", sync=True)
        stats = gp.run(program, graph, options=options).stats
        rows = [pages_by_way(one) for one in stats.iterations]
        assert sum(row[column] for row in rows) == sum(sum(row.values()) for row in rows) > 0
