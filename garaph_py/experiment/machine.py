"""Describes the machine: processor, disks and GPUs with measured speeds, and versions of packages."""

from __future__ import annotations

import dataclasses
import datetime
import os
import platform
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

from .. import events
from ..errors import DeviceError
from ..executor.cpu import measure as memory_speed
from ..executor.gpu import device as gpu_device
from ..executor.gpu.links import Link, measure_links
from ..executor.gpu.measure import Measured, measure
from ..native import prepare
from ..native.threads import ThreadPool, available_cores
from ..system import machine
from ..system.machine import Disk
from ..system.versions import versions

T = TypeVar("T")


def describe(folder: Path, on_event: events.Listener, known: dict[int, Found] | None = None) -> dict[str, Any]:
    """A description for JSON: processor, memory, the disk of `folder`, GPU, system, versions, and the time.

    Measuring takes seconds, so what is found is kept in `known`, by the number of the file system of `folder`: several
    experiments that share it measure the machine once.
    """
    when = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    known = {} if known is None else known
    if (device := folder.stat().st_dev) not in known:
        known[device] = look([folder], None, on_event)
    disks = [dataclasses.replace(disk, path=str(folder.absolute())) for disk in known[device].disks]
    found = dataclasses.replace(known[device], disks=disks)
    return {"when": when, "system": platform.platform()} | found.document() | {"versions": versions()}


@dataclasses.dataclass(frozen=True)
class Found:
    """Measurements of the machine: CPU and memory, disks, and GPUs with their links.

    `no_gpu` is the reason why none can be used, or why not all.
    """

    cpu: dict[str, Any]
    disks: list[Disk]
    gpus: list[Measured]
    links: list[Link]
    no_gpu: str | None

    def document(self) -> dict[str, Any]:
        """The measurements as a document for JSON, in bytes and bytes per second."""
        disks = [dataclasses.asdict(disk) | {"k": disk.k} for disk in self.disks]
        gpus, links = ([dataclasses.asdict(each) for each in every] for every in (self.gpus, self.links))
        return {"cpu": self.cpu, "disks": disks, "gpus": gpus, "links": links, "no_gpu": self.no_gpu}


def look(paths: Iterable[Path], threads: int | None, listener: events.Listener) -> Found:
    """Measure the processor, the disks that `paths` are on, and the GPUs."""
    with ThreadPool(threads) as pool:
        prepare(memory_speed.KERNELS, listener)
        processor = machine.processor(available_cores())
        read = measured(listener, "memory", lambda: memory_speed.read_bandwidth(pool))
        gathers = measured(listener, "random gathers", lambda: memory_speed.gather_rate(pool))
        disks = measured_disks(paths, listener)
        gpus, links, problem = measured(listener, "the GPUs", measured_gpus)
    cpu = dataclasses.asdict(processor) | {"threads": pool.size, "read": read, "gathers": gathers}
    return Found(cpu, disks, gpus, links, problem)


def measured(listener: events.Listener, name: str, measure: Callable[[], T]) -> T:
    """Call `measure` and return its result; tell the listener when it begins and when it has ended."""
    listener(events.Step(f"measuring {name}", 0, 1, "measurements"))
    found = measure()
    listener(events.Step(f"measuring {name}", 1, 1, "measurements"))
    return found


def measured_disks(paths: Iterable[Path], listener: events.Listener) -> list[Disk]:
    """Measure the disk of each directory; directories on the same filesystem share one measurement."""
    known: dict[Any, Disk] = {}
    found = []
    for path in dict.fromkeys(Path(os.path.abspath(path)) for path in paths):
        try:
            device: Any = path.stat().st_dev if path.is_dir() and os.access(path, os.W_OK) else path
        except OSError:
            device = path
        if device not in known:
            known[device] = measured(listener, str(path), lambda path=path: machine.disk(path))  # type: ignore[misc]
        found.append(dataclasses.replace(known[device], path=str(path)))
    return found


def measured_gpus() -> tuple[list[Measured], list[Link], str | None]:
    """Measure the GPUs and their links; also the reason if one of the GPUs, or none, can be used."""
    devices, found, problem = [], [], None
    for number in range(max(gpu_device.count(), 1)):
        try:
            devices.append(gpu_device.find(number))
            found.append(measure(devices[-1]))
        except DeviceError as error:
            problem = problem or str(error)
    try:
        return found, measure_links(devices) if problem is None else [], problem
    except DeviceError as error:
        return found, [], str(error)
