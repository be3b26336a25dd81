"""Finds the GPU, enters its context in the calling thread, and turns the driver's errors into those of `errors`."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from ...errors import DeviceError, DeviceMemoryError

OLDEST = (7, 5)
"""The lowest compute capability that is supported."""
LEAST_MEMORY = 256 << 20
"""The smallest device memory that is supported, in bytes."""
FALLBACK = "or use device='cpu' (--device cpu)"
"""The last words of every error about the GPU."""


class NoDriverError(DeviceError):
    """There is no NVIDIA driver, and so no reason to expect a GPU."""


@dataclass(frozen=True)
class Device:
    """A GPU that can be used. ``with device:`` makes its primary context, which CuPy, Numba and PyTorch share, current.

    Attributes
    ----------
    name : str
    architecture : str
        ``"sm_90"`` and the like.
    memory : int
        Bytes of device memory.
    shared_memory : int
        Bytes of shared memory that a block may use. A kernel must opt in to more than 48 KiB.
    multiprocessors : int
    multiprocessor_memory, multiprocessor_threads : int
        Bytes of shared memory of a multiprocessor, and threads that it runs at a time.
    driver : module
        `pycuda.driver`.
    context : pycuda.driver.Context
    """

    name: str
    architecture: str
    memory: int
    shared_memory: int
    multiprocessors: int
    multiprocessor_memory: int
    multiprocessor_threads: int
    driver: Any
    context: Any

    def __enter__(self) -> Device:
        with failing(self.driver):  # another library may have reset the device; a forked process has no context
            self.context.push()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.context.pop()

    @property
    def has_clusters(self) -> bool:
        """Whether blocks of a kernel can be in a cluster, with a barrier of its own."""
        return int(self.architecture[3:]) >= 90

    def free_memory(self) -> int:
        """Bytes of device memory that no process uses now."""
        with self, failing(self.driver):
            free: int = self.driver.mem_get_info()[0]
            return free


_lock = threading.Lock()
_found: Device | None = None
_broken: str | None = None


def find() -> Device:
    """The first GPU. A process looks for it once.

    Raises
    ------
    DeviceError
        If a package, the driver or the GPU is missing, if the GPU is too old or has too little memory, or if it failed
        earlier in this process. The message names the cause and a fix. `NoDriverError` if there is no driver.
    """
    global _found
    with _lock:
        if _broken is not None:
            raise DeviceError(f"the GPU failed earlier in this process ({_broken}); start a new one, {FALLBACK}")
        if _found is None:
            _found = open_device()
        return _found


def found() -> Device | None:
    """The GPU if this process has found it already, and it has not failed."""
    return None if _broken is not None else _found


def open_device() -> Device:
    """The first GPU, with its primary context."""
    try:
        import cuda.core  # noqa: F401  if it is missing, fail now rather than at the first compilation
        import pycuda.driver as driver
    except ImportError as error:
        if "libcuda" in str(error):
            raise NoDriverError(f"no NVIDIA driver (libcuda.so.1 is missing); install one, {FALLBACK}") from None
        kind = DeviceError if has_driver() else NoDriverError
        raise kind(f"a package is missing ({error}); pip install 'garaph_py[gpu]', {FALLBACK}") from None
    try:
        driver.init()
        count = driver.Device.count()
    except driver.Error as error:
        raise DeviceError(f"the NVIDIA driver does not start ({error}); look at nvidia-smi, {FALLBACK}") from None
    if count == 0:
        raise DeviceError(f"the NVIDIA driver sees no GPU; look at nvidia-smi and CUDA_VISIBLE_DEVICES, {FALLBACK}")
    device = driver.Device(0)
    name, capability = device.name(), device.compute_capability()
    if capability < OLDEST:
        have, need = (".".join(map(str, item)) for item in (capability, OLDEST))
        raise DeviceError(f"{name} has compute capability {have}, but {need} is needed; use a newer GPU, {FALLBACK}")
    if device.total_memory() < LEAST_MEMORY:
        raise DeviceError(
            f"{name} has {device.total_memory() >> 20} MiB of memory, too little; use another GPU, {FALLBACK}"
        )
    attribute = driver.device_attribute
    try:
        context = device.retain_primary_context()
    except driver.Error as error:
        raise DeviceError(
            f"{name} gives no context ({error}); look at nvidia-smi for the processes that use it, {FALLBACK}"
        ) from None
    return Device(
        name,
        f"sm_{capability[0]}{capability[1]}",
        device.total_memory(),
        device.get_attribute(attribute.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
        device.get_attribute(attribute.MULTIPROCESSOR_COUNT),
        device.get_attribute(attribute.MAX_SHARED_MEMORY_PER_MULTIPROCESSOR),
        device.get_attribute(attribute.MAX_THREADS_PER_MULTIPROCESSOR),
        driver,
        context,
    )


def has_driver() -> bool:
    """Whether the NVIDIA driver is installed."""
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


class failing:  # a class, because a generator's context manager costs microseconds, several times an iteration
    """A context manager that raises the driver's errors as `DeviceError` or `DeviceMemoryError`.

    If the error destroyed the context, this process cannot use the device any more.
    """

    def __init__(self, driver: Any) -> None:
        self._driver = driver

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        global _broken
        if error is None or not isinstance(error, self._driver.Error):
            return
        if isinstance(error, self._driver.MemoryError):
            raise DeviceMemoryError(
                f"the GPU does not have enough free memory ({error}); set gpu_memory lower, {FALLBACK}"
            ) from None
        try:
            self._driver.Context.synchronize()
        except self._driver.Error:  # the error persists: the context is lost
            _broken = str(error)
        raise DeviceError(f"the GPU failed ({error}); look at nvidia-smi and the kernel log, {FALLBACK}") from None


def seconds(driver: Any, stream: Any, launch: Callable[[], None]) -> float:
    """Seconds that the work which `launch` puts on `stream` takes there, between two events.

    The device's context must be current.
    """
    began, ended = driver.Event(), driver.Event()
    began.record(stream)
    launch()
    ended.record(stream)
    ended.synchronize()
    return float(began.time_till(ended)) / 1e3
