"""Describes this machine's processor, memory and disks, and measures their speeds.

`executor.gpu.measure` does the same for a GPU.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import platform
import shutil
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import psutil

from .memory import available_memory, total_memory
from .threads import submit

Array = npt.NDArray[np.int64]

FILE_BYTES, CHUNK = 256 << 20, 4 << 20
"""Bytes of the file that is written to measure a disk, at most, and bytes of each write."""
SECONDS = 1.0
"""Seconds after which a disk measurement stops writing, or reading."""
SEQUENTIAL, RANDOM, IN_FLIGHT = 1 << 20, 1 << 12, 16
"""Bytes of a sequential read and of a random read, and how many reads are in flight at once."""
MOST_READS = 1 << 17
"""Reads in a measurement of a disk, at most."""
IN_MEMORY = ("tmpfs", "ramfs")
"""Types of filesystems that are not on a disk."""


@dataclass(frozen=True)
class Processor:
    """The CPU and its memory.

    Attributes
    ----------
    name : str
        The CPU's name.
    cores : int
        The number of cores that this process may use.
    memory, available : int
        The bytes of memory that this process may use, and how many of them are free.
    """

    name: str
    cores: int
    memory: int
    available: int


@dataclass(frozen=True)
class Disk:
    """The filesystem of a directory, and how fast it reads.

    Attributes
    ----------
    path : str
        The directory.
    filesystem, mount : str
        The filesystem's type and mount point; empty if they are not known.
    free : int or None
        Free bytes, if known.
    read : float or None
        Sequential reads in bytes per second; None if it could not be measured.
    random : float or None
        Reads of 4 KiB at random places in bytes per second; None if it could not be measured.
    direct : bool
        Whether the reads bypassed the page cache (O_DIRECT).
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
        """How many times faster sequential reads are than random reads; None unless measured with O_DIRECT."""
        return ratio(self.read, self.random) if self.direct and self.read and self.random else None


def processor(cores: int) -> Processor:
    """The CPU as the system describes it; this process may use `cores` of its cores."""
    return Processor(processor_name(), cores, total_memory(), available_memory())


@cache
def processor_name() -> str:
    """The CPU's name, or its architecture if the system does not tell the name."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, "") or platform.processor() or platform.machine()


def disk(path: str | os.PathLike[str]) -> Disk:
    """Describe the filesystem of the directory `path`, and measure how fast it reads.

    The measurement writes a file without a name and reads it back. The file has at most `FILE_BYTES`, and takes at most
    a quarter of the free space; writing and reading take little more than `SECONDS` each. If something fails, the
    returned `Disk` says what.
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
    """Free bytes in the filesystem of the directory `place`; None if they are not known."""
    try:
        return shutil.disk_usage(place).free
    except OSError:
        return None


def mounted(place: str) -> tuple[str, str]:
    """The type and the mount point of the filesystem that holds the absolute path `place`."""
    found = "", ""
    for partition in psutil.disk_partitions(all=True):
        mount = partition.mountpoint
        # Of several filesystems mounted at one place, the last one counts.
        if len(mount) >= len(found[1]) and Path(place).is_relative_to(mount):
            found = partition.fstype, mount
    return found


def go_direct(file: int) -> bool:
    """Let reads and writes of `file` bypass the page cache; return whether its filesystem supports that."""
    if not hasattr(os, "O_DIRECT"):
        return False
    try:
        fcntl.fcntl(file, fcntl.F_SETFL, fcntl.fcntl(file, fcntl.F_GETFL) | os.O_DIRECT)
    except OSError:
        return False
    return True


def fill_file(file: int, size: int, direct: bool) -> int:
    """Write at most `size` bytes to `file`, and drop them from the page cache; return how many were written."""
    with mmap.mmap(-1, CHUNK) as chunk:  # page-aligned, as O_DIRECT requires
        chunk.write(np.random.default_rng(1).bytes(CHUNK))  # random bytes, which no filesystem can compress
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
    """Measure one disk: bytes per second of sequential reads, and of random reads, with several reads in flight.

    Python threads read, which can do at most about 250,000 reads per second.

    Parameters
    ----------
    files : sequence of (int, int)
        Handles of files on that disk, and the size of each in bytes; together at least `SEQUENTIAL`.
    seconds : float
        The longest time for either measurement. A measurement also ends when it has read as much as the files hold.
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
    """Measure reads of `nbytes` bytes each at these offsets of the files `handles`, in bytes per second."""
    places = iter(list(zip(handles.tolist(), offsets.tolist(), strict=True)))  # a free thread takes the next
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
        done = sum(read.result() for read in [submit(pool, work) for _ in range(IN_FLIGHT)])
    return done / (time.perf_counter() - started)


def read_ratio(disks: Sequence[Sequence[Path]], seconds: float) -> float | None:
    """Measure how many times faster sequential reads from disks are than random reads.

    Parameters
    ----------
    disks : sequence of sequence of Path
        Files on each disk, together at least `SEQUENTIAL` bytes.
    seconds : float
        About how long the measurement takes.

    Returns
    -------
    float or None
        At least 1; None if a disk cannot be read without the page cache.
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
    except (OSError, RuntimeError):  # RuntimeError: the system allows no further thread
        return None
    return ratio(*map(sum, zip(*speeds, strict=True)))


def ratio(sequential: float, random: float) -> float:
    """How many times faster sequential reads are than random reads, at least 1."""
    return max(sequential / random, 1.0)
