"""Notes the levels of searches in a device's memory, where their bits are, and makes the table of them there.

The planes are those of `..cpu.levels`. Kernels note from the bits of all vertices, whether they are active or not: that
takes as long as to look for the active ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import DeviceMemoryError
from ..levels import NARROW, table_of
from .device import failing
from .device_graph import DeviceGraph
from .device_state import DeviceState
from .launch import Launcher
from .run_arrays import RunArrays

PLANES = "planes {}"
"""The names of allocations with `NARROW` planes each."""


class DeviceLevels:
    """The levels of all vertices, by a device's numbers.

    Parameters
    ----------
    state : DeviceState
    arrays : RunArrays
        Their values have the searches' bits.
    kept : DeviceGraph
    launcher : Launcher
    """

    def __init__(self, state: DeviceState, arrays: RunArrays, kept: DeviceGraph, launcher: Launcher) -> None:
        self._state, self._arrays, self._memory, self._launcher = state, arrays, kept.memory, launcher
        self._depth = 0

    def begin(self, sources: npt.NDArray[np.int64]) -> bool:
        """Begin before the first superstep: clear each source's bit at the source, and make it active.

        Returns
        -------
        bool
            Whether there is room; if not, nothing has been done.
        """
        self._words, nbytes, arrays = -(-len(sources) // 8), self._arrays.n * 8, self._arrays
        with self._launcher.device, failing(self._memory.driver):
            try:
                left = self._memory.allocate("left", nbytes, clear=False)
                given = self._memory.allocate("sources", sources.nbytes, clear=False)
                self._memory.allocate(PLANES.format(0), NARROW * nbytes)
                self._memory.allocate("noted", 8)
                self._state.reserve_parts(8 * self._words)
            except DeviceMemoryError:
                for name in ("left", "sources", PLANES.format(0), "noted"):
                    self._memory.free(name)
                return False
            self._memory.driver.memcpy_htod(given, sources.view(np.uint8))
            places = given, *map(arrays.address, ("positions", "values", "frontier"))
            arguments = *map(np.uint64, places), np.int64(len(sources))
            self._launcher.with_arguments("begin_searches", len(sources), None, arguments)
            self._memory.driver.memcpy_dtod(left, arrays.address("values"), nbytes)
        return True

    def after(self, level: int) -> int:
        """Note the vertices that the last superstep has reached; see `..cpu.levels.Levels.after`."""
        n, memory, noted = self._arrays.n, self._memory, np.zeros(1, np.int64)
        with self._launcher.device, failing(memory.driver):
            self._depth = level.bit_length()
            memory.driver.memset_d8(memory.at("noted"), 0, noted.nbytes)
            for first in range(0, self._depth, NARROW):
                if first and level == 1 << first:
                    memory.allocate(PLANES.format(first), NARROW * 8 * n)
                digits, is_last = level >> first & (1 << NARROW) - 1, first + NARROW >= self._depth
                places = self._arrays.address("values"), *map(memory.at, ("left", PLANES.format(first), "noted"))
                arguments = *map(np.uint64, places), np.int64(n), np.uint32(digits), np.uint32(is_last)
                self._launcher.with_arguments("note_levels", n, None, arguments)
            memory.driver.memcpy_dtoh(noted.view(np.uint8), memory.at("noted"))
        return int(noted[0])

    def table(self) -> npt.NDArray[np.int8 | np.int32]:
        """The table of levels, with whole words of sources for each vertex; see `..cpu.levels.Levels.table`."""
        return table_of(self._part, self._depth)

    def _part(self, first: int, depth: int) -> npt.NDArray[np.int8]:
        """A table of the bits of levels that are in `depth` planes from plane `first` on."""
        arrays, words = self._arrays, self._words
        table = self._state.answer(np.dtype(f"V{8 * words}"))
        places = arrays.address("values"), arrays.address("positions"), self._memory.at(PLANES.format(first))

        def launch(begin: int, end: int, place: int, stream: Any) -> None:
            numbers = map(np.int64, (begin, end, arrays.n))
            arguments = *map(np.uint64, (*places, place)), *numbers, np.uint32(depth), np.uint32(words)
            self._launcher.with_arguments("spread_levels", end - begin, stream, arguments)

        self._state.in_parts(table, launch)
        return table.array.view(np.int8).reshape(arrays.n, 8 * words)
