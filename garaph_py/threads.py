"""How many cores this process may use, and a team of threads that runs one function over many argument tuples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import psutil

from .errors import ParameterError

T = TypeVar("T")


def available_cores() -> int:
    """Cores this process may use: its affinity, cut down by the cgroup's CPU quota (containers)."""
    process = psutil.Process()
    cores = len(process.cpu_affinity()) if hasattr(process, "cpu_affinity") else psutil.cpu_count() or 1
    return max(1, int(min(cores, _cgroup_quota())))


def _cgroup_quota() -> float:
    try:
        group = Path("/proc/self/cgroup").read_text().splitlines()[-1].rpartition(":")[2].strip("/")
    except (OSError, IndexError):
        return float("inf")
    best = float("inf")
    base = Path("/sys/fs/cgroup")
    for folder in (base / group, *(base / group).parents):  # a parent's quota binds its children
        if not folder.is_relative_to(base):
            break
        try:
            quota, period = (folder / "cpu.max").read_text().split()
            best = min(best, float(quota) / float(period)) if quota != "max" else best
        except (OSError, ValueError):
            continue
    return max(best, 1.0)


class Team:
    """`size` threads, the calling one among them, for code that releases the GIL.

    A team belongs to one caller; two callers use two teams, so runs from several Python threads do not meet.

    Parameters
    ----------
    size : int, optional
        Number of threads, at least 1; by default `available_cores`.

    Raises
    ------
    ParameterError
        If `size` is not a positive integer.
    """

    def __init__(self, size: int | None = None) -> None:
        if size is not None and (isinstance(size, bool) or not isinstance(size, int) or not 1 <= size <= 4096):
            raise ParameterError(f"threads={size!r}: give a whole number from 1 to 4096, or leave it out for all cores")
        self.size = size or available_cores()
        self._pool = ThreadPoolExecutor(self.size - 1, thread_name_prefix="garaph-cpu") if self.size > 1 else None

    def run(self, function: Callable[..., T], tasks: Iterable[Sequence[Any]]) -> list[T]:
        """``[function(*task) for task in tasks]``, in parallel, results in order; the first failure is raised."""
        first, *rest = tasks
        if self._pool is None or not rest:
            return [function(*task) for task in (first, *rest)]
        others = [self._pool.submit(function, *task) for task in rest]
        try:
            mine = function(*first)
        finally:
            done = [future.exception() for future in others]  # nobody writes to the caller's arrays after this call
        for error in done:
            if error is not None:
                raise error
        return [mine, *(future.result() for future in others)]

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown()

    def __enter__(self) -> Team:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def split(count: int, parts: int) -> list[int]:
    """``parts + 1`` bounds that cut ``range(count)`` into nearly equal runs."""
    return [count * part // parts for part in range(parts + 1)]
