"""What tests of experiments share: a machine, a sweep, the tables that it makes, and its interruption."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from garaph_py.runtime import run as runtime

MACHINE: dict[str, Any] = {"cpu": {"name": "X", "cores": 2}, "gpus": [], "versions": {}}
SWEEP = """
repeats = 2
[sweep]
program = ["PageRank", { name = "BFS", source = 1 }]
graph = ["rmat:6:4", "uniform:6:4:symmetric:weights"]
replication = ["custom", 2]
iterations = 3
"""


def table(folder: Path, name: str) -> list[dict[str, Any]]:
    return pq.read_table(folder / f"{name}.parquet").to_pylist()  # type: ignore[no-any-return]


def interrupt_at(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Ctrl-C in the run of this number."""
    real, calls = runtime.execute, []

    def run(*arguments: Any, **named: Any) -> Any:
        calls.append(1)
        if len(calls) == number:
            raise KeyboardInterrupt
        return real(*arguments, **named)

    monkeypatch.setattr(runtime, "execute", run)
