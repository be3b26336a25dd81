"""The description of a machine: several experiments measure it once."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from garaph_py.experiment import machine
from garaph_py.experiment.machine import Found, describe
from garaph_py.system.machine import Disk


def test_what_is_known_is_not_measured_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[Path] = []

    def look(paths: Iterable[Path], threads: int | None, listener: object) -> Found:
        looked.extend(paths)
        disks = [Disk(str(path), "ext4", "/", 1e8, 1e7) for path in paths]
        return Found({"name": "X", "cores": len(looked)}, disks, [], [], "no GPU here")

    monkeypatch.setattr(machine, "look", look)
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    known: dict[int, Found] = {}
    first, second = (describe(folder, lambda event: None, known) for folder in (one, two))
    assert looked == [one]
    assert (first["cpu"], first["no_gpu"]) == (second["cpu"], second["no_gpu"])
    assert [found["disks"][0]["path"] for found in (first, second)] == [str(one), str(two)]
    assert describe(two, lambda event: None)["cpu"]["cores"] == 2
    assert looked == [one, two]
