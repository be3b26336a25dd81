"""``garaph devices``: what there is to run on, and how fast it is."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from .. import events
from ..errors import DeviceError
from ..output import Progress
from ..system.sizes import show_bytes
from .graphs import Threads

if TYPE_CHECKING:
    from ..executor.gpu.measure import Measured
    from ..system.machine import Disk

Option = typer.Option
T = TypeVar("T")
INDENT = "\n      "


def devices(
    path: Annotated[
        list[Path] | None, Option(metavar="DIR", help="Measure also the disk this directory is on; repeatable.")
    ] = None,
    threads: Threads = None,
    as_json: Annotated[bool, Option("--json", help="Print one JSON object, in bytes and bytes a second.")] = False,
) -> None:
    """List CPU, disks and GPU, with measured speeds. Takes some seconds; writes up to 256 MiB a disk, for a moment.

    A disk is read one MiB after another, and 4 KiB at random places; k is how much faster the former is.

    Example:

      garaph devices --path /mnt/nvme
    """
    from ..native import cache

    with Progress() as progress:
        found = look([Path.cwd(), cache.folder(), *(path or [])], threads, progress)
    if as_json:
        print(json.dumps(found.document(), allow_nan=False))
        return
    print("CPU   " + INDENT.join(cpu_lines(found.cpu)))
    print("Disk  " + INDENT.join(aligned(disk_rows(found.disks))))
    print("GPU   " + (f"none used: {found.no_gpu}" if found.gpu is None else INDENT.join(gpu_lines(found.gpu))))


@dataclasses.dataclass(frozen=True)
class Found:
    """CPU and memory, disks, and the GPU or why there is none to use."""

    cpu: dict[str, Any]
    disks: list[Disk]
    gpu: Measured | None
    no_gpu: str | None

    def document(self) -> dict[str, Any]:
        """All of it for JSON, in bytes and bytes a second."""
        disks = [dataclasses.asdict(disk) | {"k": disk.k} for disk in self.disks]
        gpus = [] if self.gpu is None else [dataclasses.asdict(self.gpu)]
        return {"cpu": self.cpu, "disks": disks, "gpus": gpus, "no_gpu": self.no_gpu}


def look(paths: Iterable[Path], threads: int | None, listener: events.Listener) -> Found:
    """Measure the processor, the disks that `paths` are on, and the GPU."""
    from ..native import prepare
    from ..native.threads import ThreadPool, available_cores
    from ..system import machine

    with ThreadPool(threads) as pool:
        prepare(machine.KERNELS, listener)
        processor = machine.processor(available_cores())
        read = measured(listener, "memory", lambda: machine.read_bandwidth(pool))
        gathers = measured(listener, "random gathers", lambda: machine.gather_rate(pool))
        disks = measured_disks(paths, listener)
        gpu, problem = measured(listener, "the GPU", measured_gpu)
    cpu = dataclasses.asdict(processor) | {"threads": pool.size, "read": read, "gathers": gathers}
    return Found(cpu, disks, gpu, problem)


def measured(listener: events.Listener, name: str, measure: Callable[[], T]) -> T:
    """What `measure` returns; `listener` hears that it is under way."""
    listener(events.Step(f"measuring {name}", 0, 1, "measurements"))
    found = measure()
    listener(events.Step(f"measuring {name}", 1, 1, "measurements"))
    return found


def measured_disks(paths: Iterable[Path], listener: events.Listener) -> list[Disk]:
    """A row for each directory; those on one filesystem share one measurement."""
    from ..system import machine

    known: dict[Any, Disk] = {}
    found = []
    for path in dict.fromkeys(Path(os.path.abspath(path)) for path in paths):
        try:
            device: Any = path.stat().st_dev if path.is_dir() and os.access(path, os.W_OK) else path
        except OSError:
            device = path
        if device not in known:
            known[device] = measured(listener, str(path), lambda path=path: machine.disk(path))  # type: ignore[misc]
        found.append(dataclasses.replace(known[device], path=str(path)))
    return found


def measured_gpu() -> tuple[Measured | None, str | None]:
    """The GPU, or why there is none to use."""
    from ..executor.gpu.device import find
    from ..executor.gpu.measure import measure

    try:
        return measure(find()), None
    except DeviceError as error:
        return None, str(error)


def cpu_lines(cpu: dict[str, Any]) -> list[str]:
    from ..system.machine import TABLE_BYTES

    places = f"the same, 4 bytes at random places of {show_bytes(TABLE_BYTES)}"
    return [
        f"{cpu['name']}, {cpu['cores']} cores for this process",
        *aligned([
            ("memory", show_bytes(cpu["memory"]), f"{show_bytes(cpu['available'])} available"),
            ("reads", gigabytes(cpu["read"]), f"compiled, {cpu['threads']} threads, one after another"),
            ("gathers", f"{cpu['gathers'] / 1e9:.2f} GE/s", places),
        ]),
    ]  # fmt: skip


def disk_rows(disks: list[Disk]) -> list[tuple[str, ...]]:
    """A heading, and a row for each directory."""
    from ..system.machine import IN_MEMORY

    rows: list[tuple[str, ...]] = [("directory", "filesystem", "mounted on", "free", "reads", "at random", "k", "")]
    for disk in disks:
        cached = "in memory" if disk.filesystem in IN_MEMORY else "through the page cache"
        how = disk.problem or ("O_DIRECT" if disk.direct else cached)
        free = "-" if disk.free is None else show_bytes(disk.free)
        k = "-" if disk.k is None else f"{disk.k:.1f}"
        speeds = megabytes(disk.read), megabytes(disk.random), k
        rows.append((disk.path, disk.filesystem or "-", disk.mount or "-", free, *speeds, how))
    return rows


def megabytes(speed: float | None) -> str:
    return "-" if speed is None else f"{speed / 1e6:,.0f} MB/s"


def gpu_lines(gpu: Measured) -> list[str]:
    link = "pinned memory" if gpu.pinned else "pageable memory: the system did not let it be pinned"
    return [
        f"{gpu.name}, compute capability {gpu.compute_capability}, {gpu.multiprocessors} multiprocessors, "
        f"driver {gpu.driver}",
        *aligned([
            ("memory", show_bytes(gpu.memory), f"{show_bytes(gpu.free)} free"),
            ("shared memory", show_bytes(gpu.block_memory), f"a block, {show_bytes(gpu.multiprocessor_memory)} a "
             "multiprocessor"),
            ("to the GPU", gigabytes(gpu.to_device), link),
            ("from the GPU", gigabytes(gpu.from_device), link),
            ("copies within", gigabytes(gpu.copy), "read and written bytes together"),
        ]),
    ]  # fmt: skip


def gigabytes(speed: float) -> str:
    return f"{speed / 1e9:.1f} GB/s"


def aligned(rows: list[tuple[str, ...]]) -> list[str]:
    """Rows of cells as lines with columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
