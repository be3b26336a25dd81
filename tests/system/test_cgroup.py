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


def test_a_name_may_have_colons(groups: list[Path], tmp_path: Path) -> None:
    own = groups[0] / "user.slice" / "app:shell:1.scope"
    own.mkdir(parents=True)
    limit(own, "1000", 300, 0)
    (tmp_path / "cgroup").write_text("0::/user.slice/app:shell:1.scope\n")
    assert cgroup.memory() == (1000, 700)


def test_a_group_without_the_memory_controller_has_its_parents_limit(groups: list[Path]) -> None:
    _, parent, own = groups
    (own / "cgroup.controllers").write_text("cpu pids\n")
    (own / "cpu.max").write_text("200000 100000\n")
    assert cgroup.memory() == (cgroup.NONE, cgroup.NONE)
    limit(parent, "1000", 700, 0)
    assert cgroup.memory() == (1000, 300)
    assert cgroup.cores() == 2


def test_a_container_sees_its_own_group_as_the_root(groups: list[Path], tmp_path: Path) -> None:
    """The system may name the group as it is called outside, where the container cannot look."""
    limit(groups[0], "1000", 400, 100)
    (tmp_path / "cgroup").write_text("0::/kubepods/pod7/container9\n")
    assert cgroup.memory() == (1000, 700)


@pytest.mark.parametrize("text", ["", "0", "0:", "memory"])
def test_a_line_of_another_kind_names_no_group(groups: list[Path], tmp_path: Path, text: str) -> None:
    (tmp_path / "cgroup").write_text(text)
    assert list(cgroup.folders()) == []


@pytest.mark.parametrize("name", ["memory.max", "memory.current", "memory.stat"])
def test_a_file_that_cannot_be_understood_sets_no_limit(groups: list[Path], name: str) -> None:
    limit(groups[2], "1000", 300, 0)
    (groups[2] / name).write_text("inactive_file many\n")
    assert cgroup.memory() == (cgroup.NONE, cgroup.NONE)
