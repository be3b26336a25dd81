"""``garaph devices`` and what it measures: right figures for known devices; no failure ends the command."""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from garaph_py.cli import devices
from garaph_py.errors import DeviceError, DeviceMemoryError
from garaph_py.executor.cpu import measure as memory_speed
from garaph_py.executor.gpu import device as gpu_device
from garaph_py.executor.gpu import measure as gpu
from garaph_py.executor.gpu.links import Link
from garaph_py.experiment.machine import measured_disks, measured_gpus
from garaph_py.native.threads import ThreadPool
from garaph_py.system import machine
from tests.support.command import garaph

GPU = gpu.Measured(
    "NVIDIA X", "9.0", 80 << 30, 70 << 30, 132, 227 << 10, 228 << 10, "580.65.06, CUDA 13.0", 55e9, 56e9, True, 4e12,
    63 << 30,
)  # fmt: skip


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Small measurements in a folder of their own, on a machine without GPU; the folder."""
    monkeypatch.setattr(memory_speed.read_bandwidth, "__defaults__", (1 << 20,))
    monkeypatch.setattr(memory_speed.gather_rate, "__defaults__", (1 << 20, 1 << 16))
    monkeypatch.setattr(machine, "FILE_BYTES", 2 * machine.CHUNK)
    monkeypatch.setattr(gpu_device, "_found", {})
    monkeypatch.setattr(gpu_device, "has_driver", lambda: True)
    monkeypatch.setitem(sys.modules, "pycuda.driver", None)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_table(quick: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert garaph(monkeypatch, "devices", "--path", quick / "nowhere") == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert err == ""  # no terminal, no progress
    assert lines[0].startswith("CPU   ")
    assert "E/s" in lines[3]
    assert lines[4].startswith("Disk  directory")
    assert "/s  " in next(line for line in lines if f"{quick} " in line)
    assert any(f"{quick}/nowhere" in line and line.endswith("No such file or directory") for line in lines)
    assert lines[-1].startswith("GPU   none used: a package is missing")
    assert "pip install 'garaph_py[gpu]'" in lines[-1]
    assert list(quick.iterdir()) == []


def test_json(quick: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert garaph(monkeypatch, "devices", "--json", "--threads", 1) == 0
    answer = json.loads(capsys.readouterr().out)
    assert set(answer) == {"cpu", "disks", "gpus", "links", "no_gpu"}
    assert answer["cpu"]["threads"] == 1
    assert answer["cpu"]["memory"] >= answer["cpu"]["available"] > 0
    assert min(answer["cpu"]["read"], answer["cpu"]["gathers"]) > 0
    assert answer["disks"][0]["path"] == str(quick)
    assert answer["disks"][0]["read"] > 0
    assert answer["gpus"] == []
    assert answer["no_gpu"].startswith("a package is missing")


def test_a_gpu_in_table_and_json(
    quick: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("garaph_py.experiment.machine.measured_gpus", lambda: ([GPU], [], None))
    assert garaph(monkeypatch, "devices") == 0
    lines = capsys.readouterr().out.partition("GPU   ")[2].splitlines()
    assert lines[0] == "NVIDIA X, compute capability 9.0, 132 multiprocessors, driver 580.65.06, CUDA 13.0"
    assert lines[1].split() == ["memory", "80.0", "GiB", "70.0", "GiB", "free"]
    assert lines[2].split()[:4] == ["for", "graphs", "63.0", "GiB"]
    assert lines[4].split() == ["to", "the", "GPU", "55.0", "GB/s", "pinned", "memory"]
    assert garaph(monkeypatch, "devices", "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["gpus"] == [dataclasses.asdict(GPU)]
    assert answer["no_gpu"] is None


def test_several_gpus_and_their_links(
    quick: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    link = Link(0, 1, True, 391e9, 390e9, 777e9)
    found = [GPU] * 2, [link, dataclasses.replace(link, second=2, is_direct=False)], "GPU 2 is lost; look for it"
    monkeypatch.setattr("garaph_py.experiment.machine.measured_gpus", lambda: found)
    assert garaph(monkeypatch, "devices") == 0
    out = capsys.readouterr().out
    assert out.count("NVIDIA X, compute capability 9.0") == 2
    assert "GPU 1 NVIDIA X" in out
    rows = [line.split() for line in out.partition("Links ")[2].splitlines()[1:3]]
    assert rows[0] == ["0,", "1", "391", "GB/s", "390", "GB/s", "777", "GB/s", "direct"]
    assert rows[1][-5:] == ["by", "way", "of", "the", "host"]
    assert out.splitlines()[-1] == "GPU   not all used: GPU 2 is lost; look for it"
    assert garaph(monkeypatch, "devices", "--json") == 0
    assert json.loads(capsys.readouterr().out)["links"][0] == dataclasses.asdict(link)


def test_one_filesystem_is_measured_once(quick: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measured: list[Path] = []
    monkeypatch.setattr(
        machine, "disk", lambda path: measured.append(path) or machine.Disk(str(path), "ext4", "/", 1, 2.0)
    )
    (quick / "below").mkdir()
    found = measured_disks([quick, quick / "below", quick, quick / "nowhere"], lambda event: None)
    assert [disk.path for disk in found] == [str(quick), str(quick / "below"), str(quick / "nowhere")]
    assert measured == [quick, quick / "nowhere"]


@pytest.mark.parametrize("number", [errno.EROFS, errno.ENOSPC, errno.EIO])
def test_a_disk_that_fails_is_said_in_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def fail(*_: object) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "pwritev", fail)
    found = machine.disk(tmp_path)
    assert (found.read, found.problem) == (None, os.strerror(number))
    assert found.free is not None
    assert list(tmp_path.iterdir()) == []
    assert devices.disk_rows([found])[1][-1] == os.strerror(number)


def test_an_interrupted_measurement_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "preadv", interrupt)
    with pytest.raises(KeyboardInterrupt):
        machine.disk(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_nearly_full_disk_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = machine.shutil._ntuple_diskusage(1 << 30, 1 << 30, 3 * machine.CHUNK)
    monkeypatch.setattr(machine.shutil, "disk_usage", lambda place: usage)
    found = machine.disk(tmp_path)
    assert (found.free, found.read) == (3 * machine.CHUNK, None)
    assert found.problem == "too little free space to measure"


def test_a_filesystem_without_o_direct_is_read_through_the_page_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "FILE_BYTES", machine.CHUNK)
    monkeypatch.setattr(machine, "go_direct", lambda file: False)
    found = machine.disk(tmp_path)
    assert found.read is not None
    assert not found.direct
    assert devices.disk_rows([dataclasses.replace(found, filesystem="nfs")])[1][-1] == "through the page cache"
    assert devices.disk_rows([dataclasses.replace(found, filesystem="tmpfs")])[1][-1] == "in memory"


def test_a_slow_disk_is_given_up_after_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "SECONDS", 0.0)
    asked: list[int] = []
    read = os.preadv
    monkeypatch.setattr(os, "preadv", lambda file, into, at: asked.append(at) or read(file, into, at))
    assert machine.disk(tmp_path).read is not None
    in_order = range(0, machine.CHUNK, machine.SEQUENTIAL)  # all that was written
    assert sorted(asked[: len(in_order)]) == list(in_order)
    assert len(asked) <= 2 * machine.IN_FLIGHT


def test_k_is_the_ratio_of_both_speeds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = machine.Disk("/", "ext4", "/", 1, 300.0, 120.0, direct=True)
    assert found.k == 2.5
    assert devices.disk_rows([found])[1][4:] == ("300 B/s", "120 B/s", "2.5", "O_DIRECT")
    assert dataclasses.replace(found, read=100.0).k == 1
    assert dataclasses.replace(found, direct=False).k is None
    assert dataclasses.replace(found, read=None, random=None).k is None
    speeds = iter([(300.0, 100.0), (100.0, 100.0)])
    asked: list[Any] = []
    monkeypatch.setattr(machine, "mounted", lambda place: ("ext4", "/"))
    monkeypatch.setattr(machine, "go_direct", lambda file: True)
    monkeypatch.setattr(machine, "read_speeds", lambda *given: asked.append(given) or next(speeds))
    files = [tmp_path / name for name in "abc"]
    for file in files:
        file.write_bytes(bytes(1 << 20))
    assert machine.read_ratio([files[:1], files[1:]], 0.5) == 2
    assert [([size for _, size in there], seconds) for there, seconds in asked] == [
        ([1 << 20], 0.125), ([1 << 20] * 2, 0.125)
    ]  # fmt: skip
    monkeypatch.setattr(machine, "go_direct", lambda file: False)
    assert machine.read_ratio([files], 0.5) is None
    monkeypatch.setattr(machine, "mounted", lambda place: ("tmpfs", "/"))
    assert machine.read_ratio([files], 0.5) is None
    assert machine.read_ratio([[tmp_path / "nowhere"]], 0.5) is None


def test_places_are_read_once_in_order_and_at_random(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "one").write_bytes(bytes(machine.SEQUENTIAL * 2 + 5))
    (tmp_path / "two").write_bytes(bytes(machine.SEQUENTIAL))
    asked: list[tuple[int, int, int]] = []
    read = os.preadv
    monkeypatch.setattr(
        os, "preadv", lambda file, into, at: asked.append((file, len(into[0]), at)) or read(file, into, at)
    )
    with (tmp_path / "one").open("rb") as one, (tmp_path / "two").open("rb") as two:
        files = [(one.fileno(), machine.SEQUENTIAL * 2 + 5), (two.fileno(), machine.SEQUENTIAL)]
        assert min(machine.read_speeds(files, 5.0)) > 0
        whole = [(one.fileno(), machine.SEQUENTIAL, 0), (one.fileno(), machine.SEQUENTIAL, machine.SEQUENTIAL),
                 (two.fileno(), machine.SEQUENTIAL, 0)]  # fmt: skip
    assert sorted(asked[:3]) == whole
    assert len(asked) == 3 + 3 * machine.SEQUENTIAL // machine.RANDOM
    assert all(size == machine.RANDOM and at % size == 0 for _, size, at in asked[3:])
    assert len(set(asked)) > len(asked) // 2


def test_the_longest_mount_point_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    class Partition:
        def __init__(self, mountpoint: str, fstype: str) -> None:
            self.mountpoint, self.fstype = mountpoint, fstype

    partitions = [Partition("/data", "xfs"), Partition("/", "ext4"), Partition("/data", "btrfs")]
    monkeypatch.setattr(machine.psutil, "disk_partitions", lambda all: partitions)
    assert machine.mounted("/data/graphs") == ("btrfs", "/data")
    assert machine.mounted("/database") == ("ext4", "/")


def test_kernels_add_up_what_their_twins_do() -> None:
    numbers = np.arange(1000, dtype=np.int64) - 300
    table, places = np.arange(500, dtype=np.uint32) + 7, np.random.default_rng(2).integers(0, 500, 900, np.uint32)
    assert memory_speed.READ(numbers, 3, 997) == numbers[3:997].sum() == memory_speed.READ.function(numbers, 3, 997)
    assert memory_speed.GATHER(table, places, 5, 800) == table[places[5:800]].sum()
    assert memory_speed.GATHER.function(table, places, 5, 800) == table[places[5:800]].sum()
    out, twin = np.zeros(10, np.int64), np.zeros(10, np.int64)
    memory_speed.FILL(out, 2, 8)
    memory_speed.FILL.function(twin, 2, 8)
    assert out.tolist() == twin.tolist() == [0, 0, 2, 3, 4, 5, 6, 7, 0, 0]


def test_rates_are_of_what_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_speed, "median_seconds", lambda work: work() is None or 0.5)
    with ThreadPool(2) as pool:
        assert memory_speed.read_bandwidth(pool, 1 << 16) == 2 << 16
        assert memory_speed.gather_rate(pool, 1 << 12, 1000) == 2000


class Driver:
    """The part of `pycuda.driver` that measurements use: every copy takes a millisecond."""

    class Error(Exception):
        pass

    class MemoryError(Error):
        pass

    class LogicError(Error):
        pass

    class Stream:
        pass

    class Event:
        def record(self, stream: Any) -> None:
            pass

        def synchronize(self) -> None:
            pass

        def time_till(self, end: Any) -> float:
            return 1.0

    class Allocation(int):
        def free(self) -> None:
            pass

    def __init__(self, free: int) -> None:
        self.free, self.allocated = free, 0

    class Context:
        synchronize = staticmethod(lambda: None)

    def mem_get_info(self) -> tuple[int, int]:
        return self.free, self.free

    def mem_alloc(self, nbytes: int) -> Allocation:
        self.allocated += nbytes
        return self.Allocation(4096)

    def memset_d8(self, *_: object) -> None:
        pass

    memcpy_htod_async = memcpy_dtoh_async = memcpy_dtod_async = memset_d8

    def get_driver_version(self) -> int:
        return 13000


class Pinned:
    count = 1

    def empty(self, shape: int, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
        return np.zeros(shape, dtype)

    def close(self) -> None:
        pass


def fake(free: int) -> gpu_device.Device:
    class Context(contextlib.nullcontext[None]):
        push = pop = lambda self: None

    return gpu_device.Device("NVIDIA X", "sm_120", 1 << 34, 99 << 10, 170, 100 << 10, 1536, Driver(free), Context())


@pytest.mark.slow
@pytest.mark.parametrize(("free", "copied"), [(64 << 20, 8 << 20), (1 << 40, 256 << 20)])
def test_a_gpu_is_measured_in_a_quarter_of_its_free_memory(
    monkeypatch: pytest.MonkeyPatch, free: int, copied: int
) -> None:
    monkeypatch.setattr(gpu, "Pinned", Pinned)
    device = fake(free)
    found = gpu.measure(device)
    assert device.driver.allocated == 2 * copied <= free // 4
    assert (found.to_device, found.from_device, found.copy) == pytest.approx((copied * 1e3, copied * 1e3, copied * 2e3))
    assert (found.compute_capability, found.free, found.block_memory) == ("12.0", free, 99 << 10)
    assert found.driver.endswith("CUDA 13.0")


def test_a_gpu_that_is_full_or_fails_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "Pinned", Pinned)
    with pytest.raises(DeviceMemoryError, match="1 MiB free; look at nvidia-smi"):
        gpu.measure(fake(1 << 20))
    device = fake(1 << 30)

    def fail(*_: object) -> None:
        raise Driver.LogicError("cuMemcpyHtoDAsync failed")

    device.driver.memcpy_htod_async = fail
    monkeypatch.setattr(gpu_device, "find", lambda number=0: device)
    found, links, problem = measured_gpus()
    assert found == links == []
    assert problem is not None
    assert "cuMemcpyHtoDAsync failed" in problem


@pytest.mark.parametrize(
    ("told", "version"),
    [
        ("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build", "580.65.06, CUDA 13.0"),
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun May 12\nGCC version 12.3.0",
         "535.183.01, CUDA 13.0"),
        ("", "CUDA 13.0"),
        (None, "CUDA 13.0"),
    ],
)  # fmt: skip
def test_driver_version(tmp_path: Path, told: str | None, version: str) -> None:
    file = tmp_path / "version"
    if told is not None:
        file.write_text(told)
    assert gpu.driver_version(13000, file) == version


@pytest.mark.gpu
def test_a_real_gpu() -> None:
    try:
        device = gpu_device.find()
    except DeviceError as error:
        pytest.skip(str(error))
    before = device.free_memory()
    found = gpu.measure(device)
    assert (found.name, found.memory) == (device.name, device.memory)
    assert f"sm_{found.compute_capability.replace('.', '')}" == device.architecture
    assert found.pinned
    assert min(found.to_device, found.from_device) > 1e9
    assert max(found.to_device, found.from_device) < found.copy < 2e13
    assert gpu.host_to_device_bandwidth(device) == pytest.approx(found.to_device, rel=0.5)
    if "PYTEST_XDIST_WORKER" not in os.environ:  # other workers use the GPU's memory, too
        assert device.free_memory() > before - (32 << 20)
