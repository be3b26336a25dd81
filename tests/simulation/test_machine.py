"""Files that describe a machine: what they may contain, and the errors for wrong ones."""

from __future__ import annotations

from dataclasses import replace

import pytest

from garaph_py.dispatch.rates import Speeds
from garaph_py.errors import DeviceMemoryError, FormatError, ParameterError
from garaph_py.executor.modes import CPU, GPU, NOTIFY_PULL, PULL
from garaph_py.simulation import Machine, read_machine, simulate, write_machine
from garaph_py.simulation.machine import Disks, WorkCost, machine_of
from tests.support.simulated import KNOWN, MACHINE, SMALL, how, workload


@pytest.mark.parametrize(("before", "after", "said"), [
    ("cores = 2", "cores = 0", "cores=0"), ("cores = 2", "cores = true", "cores=True"), ("cores = 2", "", "cores is"),
    ("cores = 2", "core = 2", "there is no 'core'"), ('"1GiB"', '"one"', "gpu_memory='one'"),
    ('gpu_memory = "1GiB"', "", "needs both"), ("to_device = 1e9", "to_device = -1", "link: to_device=-1"),
    ("to_device = 1e9", "to_device = nan", "to_device=nan"), ('"gpu"', '"tpu"', "work 2: processor='tpu'"),
    ("edge = 1e-9", "edge = [1, 2, 3]", "work 1: edge="), ("edge = 1e-9", "", "work 1: takes no time"),
    ("to_device = 1e9", "to_device = 1e9\nunpinned = 0", "link: unpinned=0"),
    ("[link]", "link = 3\n[other]", "'other'"), ("[link]", "[speeds]\ncpu = 1\n[link]", "speeds: gpu is"),
    ("[link]", "[speeds]\nlink = 1\n[link]", "there is no 'link'"),
    ("cores = 2", "cores = 2\nhost_copy = 0", "host_copy=0"), ("[[work]]", "[work]", "TOML"),
])  # fmt: skip
def test_what_is_wrong_with_a_machine_is_said(tmp_path, before, after, said):
    path = tmp_path / "machine.toml"
    path.write_text(MACHINE)
    read_machine(path)
    path.write_text(MACHINE.replace(before, after))
    with pytest.raises((ParameterError, FormatError), match=r"machine\.toml") as error:
        read_machine(path)
    assert said in str(error.value)


def test_speeds_need_a_gpu():
    with pytest.raises(ParameterError, match="a machine with a GPU"):
        machine_of({"cores": 1, "speeds": {"cpu": 1.0, "gpu": 1.0}, "work": [{"processor": "cpu", "edge": 1.0}]})


def test_the_costs_of_sharing_are_those_of_the_mode():
    both = [WorkCost("both", "any", mode, page=1.0) for mode in (PULL, NOTIFY_PULL)]
    machine = Machine(1, tuple(both))
    assert [machine.overhead("BFS", mode) for mode in (PULL, NOTIFY_PULL)] == both
    assert Machine(1, tuple(both[:1])).overhead("BFS", NOTIFY_PULL) == both[0]


def test_machines_are_written_as_they_are_read(tmp_path):
    beside, both = replace(KNOWN.work[0], beside_gpu=True), replace(KNOWN.work[-1], program="PageRank", launch=1e-4)
    assert KNOWN.link is not None
    speeds = Speeds(4e9, 1e11, KNOWN.link.to_device)
    machine = replace(
        KNOWN, speeds=speeds, host_memory=1 << 36, disks=Disks(3, 5e8, 5e7), work=(*KNOWN.work, beside, both)
    )
    write_machine(machine, tmp_path / "machine.toml", "two\nlines")
    assert read_machine(tmp_path / "machine.toml") == machine
    measured = replace(machine, link=replace(KNOWN.link, unpinned=8e9))
    write_machine(measured, tmp_path / "machine.toml")
    assert read_machine(tmp_path / "machine.toml") == measured
    with pytest.raises(FormatError, match="no such file"):
        read_machine(tmp_path / "other.toml")


def test_a_machine_says_what_it_does_not_know():
    assert KNOWN.work_of(CPU, "PageRank", NOTIFY_PULL) == KNOWN.work_of(CPU, "PageRank", PULL)
    assert Machine(1, KNOWN.work[2:3]).work_of(CPU, "ConnectedComponents", PULL) == KNOWN.work[2]
    with pytest.raises(ParameterError, match="SSSP costs on cpu"):
        KNOWN.work_of(CPU, "SSSP", PULL)
    with pytest.raises(ParameterError, match="no GPU"):
        simulate(workload(), replace(SMALL, gpu_memory=None, link=None), how(GPU))
    with pytest.raises(ParameterError, match="has none"):
        simulate(workload(on_disks=True), SMALL, how(CPU))
    with pytest.raises(DeviceMemoryError):
        simulate(workload(), replace(SMALL, gpu_memory=1000), how(GPU))
