"""The GPU: found or not, with cause and fix; its context, entered by every thread that calls; its errors as ours."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from ...errors import DeviceError, DeviceMemoryError

OLDEST = (7, 5)
LEAST_MEMORY = 256 << 20
FALLBACK = "or use device='cpu' (--device cpu)"


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
        Bytes a block may use; above 48 KiB only when asked for.
    multiprocessors : int
    multiprocessor_memory, multiprocessor_threads : int
        Bytes of shared memory of a multiprocessor, and threads it runs at a time.
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

    def free_memory(self) -> int:
        """Bytes that nobody uses now."""
        with self, failing(self.driver):
            free: int = self.driver.mem_get_info()[0]
            return free


_lock = threading.Lock()
_found: Device | None = None
_broken: str | None = None


def find() -> Device:
    """The first GPU, found once a process.

    Raises
    ------
    DeviceError
        Cause and fix: no package, no driver, no device, too old, too little memory, or failed before.
    """
    global _found
    with _lock:
        if _broken is not None:
            raise DeviceError(f"the GPU failed earlier in this process ({_broken}); start a new one, {FALLBACK}")
        if _found is None:
            _found = open_device()
        return _found


def open_device() -> Device:
    """The first GPU, with its primary context."""
    try:
        import cuda.core  # noqa: F401  found missing now rather than when something has to be compiled
        import pycuda.driver as driver
    except ImportError as error:
        if "libcuda" in str(error):
            raise DeviceError(f"no NVIDIA driver (libcuda.so.1 is missing); install one, {FALLBACK}") from None
        raise DeviceError(f"a package is missing ({error}); pip install 'garaph_py[gpu]', {FALLBACK}") from None
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
            f"{name} gives no context ({error}); look at nvidia-smi for who uses it, {FALLBACK}"
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


class failing:  # not a generator: those take microseconds, several times an iteration
    """Turn the driver's errors into ours; one that ends the context ends the device for this process."""

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
                f"the GPU has not enough free memory ({error}); set gpu_memory lower, {FALLBACK}"
            ) from None
        try:
            self._driver.Context.synchronize()
        except self._driver.Error:  # it has come to stay: the context is lost
            _broken = str(error)
        raise DeviceError(f"the GPU failed ({error}); look at nvidia-smi and the kernel log, {FALLBACK}") from None


def seconds(driver: Any, stream: Any, launch: Callable[[], None]) -> float:
    """What `launch` puts on `stream` takes there, between two events. The device's context must be current."""
    began, ended = driver.Event(), driver.Event()
    began.record(stream)
    launch()
    ended.record(stream)
    ended.synchronize()
    return float(began.time_till(ended)) / 1e3
