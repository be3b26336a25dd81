"""What the summary of an experiment says of failures, and of sources."""

from __future__ import annotations

from typing import Any

import pytest

from garaph_py.experiment.kinds import Row
from garaph_py.experiment.summary import failures, summary

SWEEP = """
[sweep]
program = ["ConnectedComponents", "PageRank"]
graph = "rmat:6:4"
device = ["cpu", "gpu", "hybrid"]
"""


@pytest.mark.parametrize(
    ("failed", "line"),
    [
        ({"gpu"}, "device=gpu: no GPU"),
        ({"gpu", "hybrid"}, "device=gpu, hybrid: no GPU"),
        ({"cpu", "gpu", "hybrid"}, "no GPU"),
    ],
)
def test_failures_say_which_settings_fail(spec_of: Any, failed: set[str], line: str) -> None:
    spec = spec_of(SWEEP)
    rows: list[Row] = [
        {**combination.settings, "error": "no GPU" if combination.settings["device"] in failed else None}
        for combination in spec.combinations
    ]
    assert failures(spec, rows) == [line]


def test_only_sources_that_were_measured_count(spec_of: Any) -> None:
    spec = spec_of("[sweep]\nprogram = {name = 'BFS', source = 'random:3'}\ngraph = 'rmat:6:4'\n")
    rows: list[Row] = [
        {**one.settings, "combination": one.number, "machine": "X", "note": None,
         "seconds": None if one.number else 1.0, "error": "it ended" if one.number else None}
        for one in spec.combinations
    ]  # fmt: skip
    assert [one["sources"] for one in summary(spec, rows)] == [1]
