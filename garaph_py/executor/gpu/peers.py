"""Copies from one GPU's memory to another's, over a link between them if there is one, else by way of the host.

The driver chooses the way. PyCUDA's own `memcpy_peer_async` ignores the contexts that it is given, so the driver is
called through cuda-bindings.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import permutations
from typing import Any, Protocol

from ...errors import DeviceError
from ...pages.layout import Page
from .device import FALLBACK, Device
from .parts import Part


class Holder(Protocol):
    """An executor that holds the values of all vertices (`GpuExecutor`)."""

    device: Device

    def address(self, name: str) -> int:
        """Where an array of the run is."""


@dataclass(frozen=True)
class Peers:
    """Sends what one GPU has computed to the others. The GPU's context must be current.

    Attributes
    ----------
    own : Holder
    others : sequence of Holder
    part : Part
        The vertices that the GPU updates.
    value_bytes : int
        Bytes of a vertex's value.
    """

    own: Holder
    others: Sequence[Holder]
    part: Part
    value_bytes: int

    def send_values(self, pages: Iterable[Page], stream: Any) -> None:
        """Start to copy the new values of `pages` on `stream`, which has computed them by then.

        Pages whose vertices adjoin each other are sent as one.
        """
        for first, last in joined_vertices(pages):
            self._send("next_values", first * self.value_bytes, (last - first) * self.value_bytes, stream)

    def send_frontier(self, stream: Any, pages: Iterable[Page] | None = None) -> None:
        """Start to copy the next frontier of `pages`, by default of the whole part."""
        for part in [self.part] if pages is None else [Part(*vertices) for vertices in joined_vertices(pages)]:
            self._send("next_frontier", *part.bits, stream)

    def _send(self, name: str, begin: int, nbytes: int, stream: Any) -> None:
        """Start to copy a part of an array to the same place on the other GPUs."""
        if not nbytes:
            return
        source = self.own.address(name) + begin
        for other in self.others:
            copy(other.device, other.address(name) + begin, self.own.device, source, nbytes, stream)


def joined_vertices(pages: Iterable[Page]) -> list[tuple[int, int]]:
    """The vertices of `pages`, as few intervals, in the order of the vertices."""
    found: list[tuple[int, int]] = []
    for page in sorted(pages, key=lambda page: page.first_vertex):
        first = found.pop()[0] if found and found[-1][1] == page.first_vertex else page.first_vertex
        found.append((first, page.last_vertex))
    return found


def copy(to: Device, place: int, of: Device, source: int, nbytes: int, stream: Any) -> None:
    """Start to copy from the device `of` to the device `to`, on a `stream` of the former, whose context is current."""
    from cuda.bindings import driver

    check(driver.cuMemcpyPeerAsync(place, context_of(to), source, context_of(of), nbytes, stream.handle), of)


@cache
def can_reach(number: int, other: int) -> bool:
    """Whether the GPU with this number may reach the memory of another without the host. It makes no context."""
    from cuda.bindings import driver

    places = [driver.cuDeviceGet(each) for each in (number, other)]
    status, can = driver.cuDeviceCanAccessPeer(*(place for _, place in places))
    return not status.value and bool(can)


def link(devices: Sequence[Device]) -> None:
    """Let each of the devices reach the memory of the others without the host, where there is a way."""
    for device, other in permutations(devices, 2):
        reaches(device, other)


def reaches(device: Device, other: Device) -> bool:
    """Let `device` reach the memory of `other` without the host, if there is a way; return whether there is."""
    from cuda.bindings import driver

    if not can_reach(device.number, other.number):
        return False
    context = context_of(other)
    with device:
        (status,) = driver.cuCtxEnablePeerAccess(context, 0)
    fine = driver.CUresult.CUDA_SUCCESS, driver.CUresult.CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED
    return status in fine


_contexts: dict[
    int, tuple[Device, Any]
] = {}  # by the device's identity: the device, its context as the driver's handle


def context_of(device: Device) -> Any:
    """The device's context, as cuda-bindings takes it."""
    from cuda.bindings import driver

    if id(device) not in _contexts:
        with device:
            _contexts[id(device)] = device, check(driver.cuCtxGetCurrent(), device)
    return _contexts[id(device)][1]


def check(answer: tuple[Any, ...], device: Device) -> Any:
    """What a call of the driver has returned beside its status.

    Raises
    ------
    DeviceError
        If the status says that the call has failed.
    """
    status, *found = answer
    if status.value:
        raise DeviceError(
            f"GPU {device.number} failed ({status.name}); look at nvidia-smi and the kernel log, {FALLBACK}"
        )
    return found[0] if found else None
