"""Limits of control groups: the least of a group's own and its parents'."""

from __future__ import annotations

from pathlib import Path

import pytest

from garaph_py.system import cgroup
from garaph_py.system.memory import available_memory, total_memory


@pytest.fixture
def groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The root group, a parent and the process's own, without limits."""
    own = tmp_path / "base" / "parent" / "own"
    own.mkdir(parents=True)
    (tmp_path / "cgroup").write_text("1:cpu:/old\n0::/parent/own\n")
    monkeypatch.setattr(cgroup, "OWN", tmp_path / "cgroup")
    monkeypatch.setattr(cgroup, "BASE", tmp_path / "base")
    return [own.parent.parent, own.parent, own]


def limit(group: Path, most: str, used: int, cached: int) -> None:
    (group / "memory.max").write_text(f"{most}\n")
    (group / "memory.current").write_text(f"{used}\n")
    (group / "memory.stat").write_text(f"anon 7\ninactive_file {cached // 2}\nactive_file {cached - cached // 2}\n")


def test_without_limits_all_of_the_machine_is_used(groups: list[Path]) -> None:
    assert cgroup.memory() == (cgroup.NONE, cgroup.NONE)
    assert cgroup.cores() == cgroup.NONE
    assert 0 < available_memory() <= total_memory()


def test_a_parents_limit_applies_to_its_children(groups: list[Path]) -> None:
    _, parent, own = groups
    limit(own, "max", 300, 0)
    assert cgroup.memory() == (cgroup.NONE, cgroup.NONE)
    limit(parent, "1000", 700, 250)
    assert (total_memory(), available_memory()) == (1000, 550)
    limit(own, "800", 300, 0)
    assert (total_memory(), available_memory()) == (800, 500)
    limit(parent, "1000", 1100, 0)
    assert available_memory() == 0
    (parent / "cpu.max").write_text("150000 100000\n")
    (own / "cpu.max").write_text("max 100000\n")
    assert cgroup.cores() == 1.5


def test_nothing_is_read_outside(groups: list[Path], tmp_path: Path) -> None:
    (tmp_path / "cgroup").write_text("")
    assert list(cgroup.folders()) == []
    (tmp_path / "cgroup").write_text("0::/\n")
    assert list(cgroup.folders()) == [groups[0]]
