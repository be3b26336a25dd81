"""Transfers: ways to bring the edges of a page to the device.

An engine is a policy (dispatch/policy.py) and the transfer that it names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from ...pages.layout import Page
from ...pages.source import PageSource
from ..modes import COPIED
from .device import Device
from .edges import HostArrays, host_arrays


class Transfer(Protocol):
    """One way to bring edges to a device. The device's context must be current."""

    def send(self, arrays: HostArrays, addresses: Sequence[int | None], stream: Any) -> int:
        """Start to bring a page's edges to the device, on `stream`.

        Parameters
        ----------
        arrays : list of (ndarray of uint8, int)
            The `edges.host_arrays` of the page, valid until it is released.
        addresses : sequence of int or None
            The device address of each of the page's buffers, which begins at a multiple of `ranks.RUN` edges; None for
            those that are there already.
        stream : pycuda.driver.Stream

        Returns
        -------
        Bytes that are copied over the link.
        """


def copies(arrays: HostArrays, addresses: Sequence[int | None]) -> HostArrays:
    """The bytes to copy for a page, and where each array goes (see `Transfer.send`)."""
    # If the program does not read edge values, there are fewer addresses than arrays.
    pairs = zip(arrays, addresses, strict=False)
    return [(array, address + offset) for (array, offset), address in pairs if address is not None]


def byte_count(arrays: HostArrays) -> int:
    """Bytes of all `copies`."""
    return sum(array.nbytes for array, _ in arrays)


class HostPages:
    """The `host_arrays` of pages, which are made once for each page if the edges are in memory."""

    def __init__(self) -> None:
        self._known = dict[int, tuple[Page, HostArrays]]()  # by the page's number

    def arrays(self, page: Page, source: PageSource) -> HostArrays:
        known = self._known.get(page.number)
        if known is not None and (known[0] is page or known[0] == page):
            return known[1]
        arrays = host_arrays(source.edges(page))
        if source.is_in_memory:
            self._known[page.number] = page, arrays
        return arrays


class CopyTransfer:
    """Explicit copies of whole arrays, as in Garaph (section 5.2)."""

    def __init__(self, device: Device) -> None:
        self._driver = device.driver

    def send(self, arrays: HostArrays, addresses: Sequence[int | None], stream: Any) -> int:
        copied = 0
        for array, address in copies(arrays, addresses):
            if nbytes := array.nbytes:
                self._driver.memcpy_htod_async(address, array, stream)
                copied += nbytes
        return copied


TRANSFERS: dict[str, Callable[[Device], Transfer]] = {COPIED: CopyTransfer}
"""Makes a transfer for a device, by the name that policies and records use."""
