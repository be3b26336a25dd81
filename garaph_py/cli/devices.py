"""``garaph devices``: prints the CPU, disks and GPUs of the machine, with measured speeds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import printable
from ..output import Progress
from ..system.sizes import counted, show_bytes, show_speed
from .options import AsJson, Quiet, Threads
from .terminal import print_json

if TYPE_CHECKING:
    from ..executor.gpu.links import Link
    from ..executor.gpu.measure import Measured
    from ..system.machine import Disk

Option = typer.Option
INDENT = "\n      "


def devices(
    path: Annotated[
        list[Path] | None, Option(metavar="DIR", help="Also measure the disk of this directory; repeatable.")
    ] = None,
    threads: Threads = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """List CPU, disks and GPUs, with measured speeds.

    This takes a few seconds, and temporarily writes up to 256 MiB per disk. The command reads a disk sequentially,
    1 MiB at a time, and at random, 4 KiB at a time; k is the ratio of the two speeds. Between every two GPUs, it copies
    data in each direction, and in both at once.

    Example:

      garaph devices --path /mnt/nvme
    """
    from ..experiment.machine import look
    from ..native import cache

    compiled = cache.folder()
    with Progress(quiet) as progress:
        found = look([Path.cwd(), *([compiled] if compiled else []), *(path or [])], threads, progress)
    if as_json:
        print_json(found.document())
        return
    print("CPU   " + INDENT.join(cpu_lines(found.cpu)))
    print("Disk  " + INDENT.join(aligned(disk_rows(found.disks))))
    for number, gpu in enumerate(found.gpus):
        print((f"GPU {number} " if len(found.gpus) > 1 else "GPU   ") + INDENT.join(gpu_lines(gpu)))
    if found.links:
        print("Links " + INDENT.join(aligned(link_rows(found.links))))
    if found.no_gpu is not None:
        print("GPU   " + ("not all used: " if found.gpus else "none used: ") + found.no_gpu)


def cpu_lines(cpu: dict[str, Any]) -> list[str]:
    """The lines about the CPU and the memory."""
    from ..executor.cpu.measure import TABLE_BYTES

    places = f"the same, 4 bytes at random places in {show_bytes(TABLE_BYTES)}"
    return [
        f"{cpu['name']}, {cpu['cores']} cores for this process",
        *aligned([
            ("memory", show_bytes(cpu["memory"]), f"{show_bytes(cpu['available'])} available"),
            ("reads", show_speed(cpu["read"]), f"compiled, {counted(cpu['threads'], 'thread')}, sequential"),
            ("gathers", show_speed(cpu["gathers"], "E/s"), places),
        ]),
    ]  # fmt: skip


def disk_rows(disks: list[Disk]) -> list[tuple[str, ...]]:
    """The rows of the table of disks: a heading, then a row for each directory."""
    from ..system.machine import IN_MEMORY

    rows: list[tuple[str, ...]] = [("directory", "filesystem", "mounted on", "free", "reads", "at random", "k", "")]
    for disk in disks:
        cached = "in memory" if disk.filesystem in IN_MEMORY else "through the page cache"
        how = disk.problem or ("O_DIRECT" if disk.direct else cached)
        free = "-" if disk.free is None else show_bytes(disk.free)
        k = "-" if disk.k is None else f"{disk.k:.1f}"
        speeds = *("-" if speed is None else show_speed(speed) for speed in (disk.read, disk.random)), k
        rows.append((disk.path, disk.filesystem or "-", disk.mount or "-", free, *speeds, how))
    return rows


def gpu_lines(gpu: Measured) -> list[str]:
    """The lines about the GPU."""
    link = "pinned memory" if gpu.pinned else "pageable memory: the system did not let it be pinned"
    return [
        f"{gpu.name}, compute capability {gpu.compute_capability}, {gpu.multiprocessors} multiprocessors, "
        f"driver {gpu.driver}",
        *aligned([
            ("memory", show_bytes(gpu.memory), f"{show_bytes(gpu.free)} free"),
            ("for graphs", show_bytes(gpu.graphs), "and their runs, at most; a process keeps its graphs there"),
            ("shared memory", show_bytes(gpu.block_memory), f"a block, {show_bytes(gpu.multiprocessor_memory)} a "
             "multiprocessor"),
            ("to the GPU", show_speed(gpu.to_device), link),
            ("from the GPU", show_speed(gpu.from_device), link),
            ("copies within", show_speed(gpu.copy), "read and written bytes together"),
        ]),
    ]  # fmt: skip


def link_rows(links: list[Link]) -> list[tuple[str, ...]]:
    """The rows of the table of links: a heading, then a row for every two GPUs."""
    rows: list[tuple[str, ...]] = [("GPUs", "forth", "back", "both at once", "")]
    for link in links:
        speeds = map(show_speed, (link.forth, link.back, link.both))
        rows.append((f"{link.first}, {link.second}", *speeds, "direct" if link.is_direct else "by way of the host"))
    return rows


def aligned(rows: list[tuple[str, ...]]) -> list[str]:
    """Format rows of cells as lines with aligned columns."""
    rows = [tuple(map(printable, row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
