"""Transfers: how the edges of a page that does not stay on the device get there.

An engine is a policy (dispatch/policy.py) and the transfer that it names.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from ...pages.source import PageEdges
from ..modes import COPIED
from .device import Device
from .edges import host_arrays


class Transfer(Protocol):
    """One way to bring edges to a device. The device's context is current."""

    def send(self, edges: PageEdges, addresses: list[int], stream: Any) -> int:
        """Put on `stream` what brings a page's edges to the device.

        Parameters
        ----------
        edges : PageEdges
            In the host's memory, valid until the page is released.
        addresses : list of int
            Where each array of the page lies on the device; it begins at a multiple of `ranks.RUN` edges.
        stream : pycuda.driver.Stream

        Returns
        -------
        Bytes that travel over the link.
        """


class CopyTransfer:
    """Explicit copies of whole arrays, as in Garaph (section 5.2)."""

    def __init__(self, device: Device) -> None:
        self._driver = device.driver

    def send(self, edges: PageEdges, addresses: list[int], stream: Any) -> int:
        sent = 0
        # There are fewer addresses than arrays if the program does not read the edge values.
        for (array, offset), address in zip(host_arrays(edges), addresses, strict=False):
            if array.nbytes:
                self._driver.memcpy_htod_async(address + offset, array, stream)
                sent += array.nbytes
        return sent


TRANSFERS: dict[str, Callable[[Device], Transfer]] = {COPIED: CopyTransfer}
"""Transfers by the names that policies and records use."""
