"""Transfers: ways to bring the edges of a page to the device.

An engine is a policy (dispatch/policy.py) and the transfer that it names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy.typing as npt

from ...pages.source import PageEdges
from ..modes import COPIED
from .device import Device
from .edges import host_arrays

Array = npt.NDArray[Any]


class Transfer(Protocol):
    """One way to bring edges to a device. The device's context must be current."""

    def send(self, edges: PageEdges, addresses: Sequence[int | None], stream: Any) -> int:
        """Start to bring a page's edges to the device, on `stream`.

        Parameters
        ----------
        edges : PageEdges
            The edges in host memory, valid until the page is released.
        addresses : sequence of int or None
            The device address of each of the page's buffers, which begins at a multiple of `ranks.RUN` edges; None for
            those that are there already.
        stream : pycuda.driver.Stream

        Returns
        -------
        Bytes that are copied over the link.
        """


def copies(edges: PageEdges, addresses: Sequence[int | None]) -> list[tuple[Array, int]]:
    """The bytes to copy for a page, and where each array goes (see `Transfer.send`)."""
    # If the program does not read edge values, there are fewer addresses than arrays.
    pairs = zip(host_arrays(edges), addresses, strict=False)
    return [(array, address + offset) for (array, offset), address in pairs if address is not None]


def byte_count(arrays: Sequence[tuple[Array, int]]) -> int:
    """Bytes of all `copies`."""
    return sum(array.nbytes for array, _ in arrays)


class CopyTransfer:
    """Explicit copies of whole arrays, as in Garaph (section 5.2)."""

    def __init__(self, device: Device) -> None:
        self._driver = device.driver

    def send(self, edges: PageEdges, addresses: Sequence[int | None], stream: Any) -> int:
        wanted = copies(edges, addresses)
        for array, address in wanted:
            if array.nbytes:
                self._driver.memcpy_htod_async(address, array, stream)
        return byte_count(wanted)


TRANSFERS: dict[str, Callable[[Device], Transfer]] = {COPIED: CopyTransfer}
"""Makes a transfer for a device, by the name that policies and records use."""
