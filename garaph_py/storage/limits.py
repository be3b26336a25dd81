"""The limits of edge values, by which a run knows that none is negative before it reads any.

A writer finds them block by block. A reader takes them from the manifest, and compares each block with them when it
first checks the block (`check.Constraints`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..codec.arrays import RawArray
from ..codec.codecs import Limits, limits_of_records, merged, raw_limits
from ..codec.format import RECORD, RECORD_BYTES, RUN
from .blocks import PACKED_1, VALUES, ArrayLayout

Array = npt.NDArray[Any]


class BlockLimits:
    """Finds the limits of an array of edge values, block by block; of another array it finds none."""

    def __init__(self, array: ArrayLayout) -> None:
        self._array, self._found = array, list[Limits]()

    def put(self, stored: Array, count: int) -> None:
        """Add the `stored` bytes of a sound block of `count` elements."""
        if self._array.name not in VALUES:
            return
        if self._array.encoding == PACKED_1:
            records = stored[: -(-count // RUN) * RECORD_BYTES].view(RECORD)
            self._found.append(limits_of_records(records, self._array.dtype))
        else:
            self._found.append(raw_limits(RawArray(stored.view(self._array.dtype))))

    @property
    def found(self) -> Limits | None:
        """The limits of all these blocks; None if there were none."""
        return merged(self._found) if self._found else None

    def problem(self, known: Limits | None) -> str | None:
        """Why the `known` limits are not those of all these blocks; None if they are."""
        found = self.found
        if known is None or found is None or np.array(known).tobytes() == np.array(found).tobytes():
            return None
        stated = f"{known.least} to {known.most}, and not {found.least} to {found.most}"
        return f"it says that {self._array.name} are from {stated}; have garaph restripe write it anew"
