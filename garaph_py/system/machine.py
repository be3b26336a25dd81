"""What this machine has and how fast it is: processor, memory and disks. The GPU's side is `gpu.measure`."""

from __future__ import annotations

import fcntl
import mmap
import os
import platform
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import psutil

from ..native import Kernel
from ..native.threads import ThreadPool, split
from .memory import available_memory, total_memory

Array = npt.NDArray[np.int64]

REPEATS = 5
READ_BYTES = 1 << 30
"""What is read to measure memory: more than the caches of most processors."""
TABLE_BYTES, GATHERS = 64 << 20, 1 << 25
PARTS = 8
"""Pieces of work a thread, so that a slow core does not hold up the others."""
FILE_BYTES, CHUNK = 256 << 20, 4 << 20
SECONDS = 1.0
"""After so long no more is written, or read, to measure a disk."""
SEQUENTIAL, RANDOM, IN_FLIGHT = 1 << 20, 1 << 12, 16
"""Bytes of a read one after another, and of one at a random place; how many are under way at once."""
MOST_READS = 1 << 17
IN_MEMORY = ("tmpfs", "ramfs")


@dataclass(frozen=True)
class Processor:
    """The CPU and its memory.

    Attributes
    ----------
    name : str
    cores : int
        That this process may use.
    memory, available : int
        Bytes of the machine's memory that this process may use, and of what is left of them.
    """

    name: str
    cores: int
    memory: int
    available: int


@dataclass(frozen=True)
class Disk:
    """The filesystem a directory is on.

    Attributes
    ----------
    path : str
        The directory.
    filesystem, mount : str
        Its type, and where it is mounted; empty if not known.
    free : int or None
        Bytes that may be written, if known.
    read : float or None
        Bytes a second, one after another; None where it could not be measured.
    random : float or None
        Bytes a second, 4 KiB at random places.
    direct : bool
        Measured with O_DIRECT, past the page cache.
    problem : str or None
        Why it could not be measured.
    """

    path: str
    filesystem: str
    mount: str
    free: int | None
    read: float | None = None
    random: float | None = None
    direct: bool = False
    problem: str | None = None

    @property
    def k(self) -> float | None:
        """How much faster it is read one after another than at random places; None where the page cache was."""
        return ratio(self.read, self.random) if self.direct and self.read and self.random else None


def processor(cores: int) -> Processor:
    """The CPU, of which this process may use `cores`, as the system describes it."""
    return Processor(processor_name(), cores, total_memory(), available_memory())


def processor_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, "") or platform.processor() or platform.machine()


def fill(words: Any, start: int, stop: int) -> int:
    for k in range(start, stop):
        words[k] = k
    return 0


def read(words: Any, start: int, stop: int) -> int:
    total = 0
    for k in range(start, stop):
        total += words[k]
    return total


def gather(table: Any, places: Any, start: int, stop: int) -> int:
    total = 0
    for k in range(start, stop):
        total += table[places[k]]
    return total


FILL = Kernel("i64* i64 i64", fill)
READ = Kernel("i64* i64 i64", read)
GATHER = Kernel("u32* u32* i64 i64", gather)
KERNELS = (FILL, READ, GATHER)


def read_bandwidth(pool: ThreadPool, nbytes: int = READ_BYTES) -> float:
    """Bytes a second that all threads together read one after another from `nbytes` of memory, never more than a
    quarter of what is available."""
    words = np.empty(max(min(nbytes, available_memory() // 4) // 8, 1), np.int64)
    bounds = split(len(words), PARTS * pool.size)
    first, last = bounds[:-1], bounds[1:]
    pool.launch(FILL.rows(len(first), words, first, last))
    rows = READ.rows(len(first), words, first, last)
    return words.nbytes / median_seconds(lambda: pool.launch(rows))


def gather_rate(pool: ThreadPool, table_bytes: int = TABLE_BYTES, count: int = GATHERS) -> float:
    """Numbers of 4 bytes a second that all threads together read at random places of `table_bytes` of memory. The
    places are read from an array, as a graph's sources are."""
    table = np.ones(table_bytes // 4, np.uint32)
    places = np.random.default_rng(1).integers(0, len(table), count, np.uint32)
    bounds = split(count, PARTS * pool.size)
    rows = GATHER.rows(len(bounds) - 1, table, places, bounds[:-1], bounds[1:])
    return count / median_seconds(lambda: pool.launch(rows))


def median_seconds(work: Callable[[], object]) -> float:
    """Wall time of `work`, the median of `REPEATS`."""
    taken = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        work()
        taken.append(time.perf_counter() - started)
    return statistics.median(taken)


def disk(path: str | os.PathLike[str]) -> Disk:
    """The filesystem `path` is on, and how fast it reads; what goes wrong is said in the answer.

    A file of at most 256 MiB and a quarter of the free space is written there, has no name or loses it at once, and is
    read back. Neither goes on for much more than `SECONDS`.
    """
    place = os.path.realpath(path)
    filesystem, mount = mounted(place)
    try:
        free = shutil.disk_usage(place).free
        with tempfile.TemporaryFile(dir=place, buffering=0) as file:
            direct = filesystem not in IN_MEMORY and go_direct(file.fileno())
            size = min(FILE_BYTES, free // 4) // CHUNK * CHUNK
            if not size:
                return Disk(str(path), filesystem, mount, free, problem="too little free space to measure")
            written = fill_file(file.fileno(), size, direct)
            read, random = read_speeds([(file.fileno(), written)], SECONDS)
    except OSError as error:
        return Disk(str(path), filesystem, mount, free_space(place), problem=error.strerror or str(error))
    return Disk(str(path), filesystem, mount, free, read, random, direct)


def free_space(place: str) -> int | None:
    try:
        return shutil.disk_usage(place).free
    except OSError:
        return None


def mounted(place: str) -> tuple[str, str]:
    """Type and mount point of the filesystem that the absolute path `place` is on."""
    found = "", ""
    for partition in psutil.disk_partitions(all=True):
        mount = partition.mountpoint
        if len(mount) >= len(found[1]) and Path(place).is_relative_to(mount):  # of equals the last lies on top
            found = partition.fstype, mount
    return found


def go_direct(file: int) -> bool:
    """Have reads and writes of `file` go past the page cache; whether its filesystem does that."""
    if not hasattr(os, "O_DIRECT"):
        return False
    try:
        fcntl.fcntl(file, fcntl.F_SETFL, fcntl.fcntl(file, fcntl.F_GETFL) | os.O_DIRECT)
    except OSError:
        return False
    return True


def fill_file(file: int, size: int, direct: bool) -> int:
    """Bytes written to `file`, at most `size`, of which none are left in the page cache."""
    with mmap.mmap(-1, CHUNK) as chunk:  # on pages of its own, as O_DIRECT asks
        chunk.write(np.random.default_rng(1).bytes(CHUNK))  # a filesystem that compresses gains nothing by it
        written, until = 0, time.perf_counter() + SECONDS
        while written < size and (written < CHUNK or time.perf_counter() < until):
            written += os.pwritev(file, [chunk], written)
            if not direct:
                os.fdatasync(file)
        os.fsync(file)
        if not direct:
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    return written


def read_speeds(files: Sequence[tuple[int, int]], seconds: float) -> tuple[float, float]:
    """Bytes a second read from one disk, one after another and at random places, several reads under way.

    Threads of Python read: some 250,000 reads a second is the most they can.

    Parameters
    ----------
    files : sequence of (int, int)
        Handles on that disk, and the bytes of each: together at least `SEQUENTIAL`.
    seconds : float
        How long either is measured at most; neither reads more than there is.
    """
    counts = [size // SEQUENTIAL for _, size in files]
    handles = np.repeat([handle for handle, _ in files], counts)
    offsets = np.concatenate([np.arange(count) * SEQUENTIAL for count in counts])
    rng = np.random.default_rng(1)
    picks = rng.integers(len(offsets), size=min(len(offsets) * (SEQUENTIAL // RANDOM), MOST_READS))
    within = rng.integers(SEQUENTIAL // RANDOM, size=len(picks)) * RANDOM
    return (
        read_speed(handles[:MOST_READS], offsets[:MOST_READS], SEQUENTIAL, seconds),
        read_speed(handles[picks], offsets[picks] + within, RANDOM, seconds),
    )


def read_speed(handles: Array, offsets: Array, nbytes: int, seconds: float) -> float:
    """Bytes a second of reads of `nbytes` each at these places."""
    places = iter(list(zip(handles.tolist(), offsets.tolist(), strict=True)))  # whoever is free takes the next
    started = time.perf_counter()

    def work() -> int:
        done = 0
        with mmap.mmap(-1, nbytes) as chunk:
            for handle, offset in places:
                done += os.preadv(handle, [chunk], offset)
                if time.perf_counter() > started + seconds:
                    break
        return done

    with ThreadPoolExecutor(IN_FLIGHT) as pool:
        done = sum(read.result() for read in [pool.submit(work) for _ in range(IN_FLIGHT)])
    return done / (time.perf_counter() - started)


def read_ratio(disks: Sequence[Sequence[Path]], seconds: float) -> float | None:
    """How much faster disks are read one after another than at random places, in all `seconds` or a little more.

    Parameters
    ----------
    disks : sequence of sequence of Path
        Files on each, at least `SEQUENTIAL` bytes of them.
    seconds : float

    Returns
    -------
    float or None
        At least 1; None if they cannot be read past the page cache.
    """
    speeds = []
    try:
        for paths in disks:
            if mounted(os.path.realpath(paths[0]))[0] in IN_MEMORY:
                return None
            with ExitStack() as stack:
                files = []
                for path in paths:
                    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
                    stack.callback(os.close, handle)
                    if not go_direct(handle):
                        return None
                    files.append((handle, os.fstat(handle).st_size))
                speeds.append(read_speeds(files, seconds / 2 / len(disks)))
    except (OSError, RuntimeError):  # RuntimeError: no more threads
        return None
    return ratio(*map(sum, zip(*speeds, strict=True)))


def ratio(sequential: float, random: float) -> float:
    return max(sequential / random, 1.0)
