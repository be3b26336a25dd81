"""Finds GPUs, enters their contexts in the calling thread, and turns the driver's errors into those of `errors`."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from types import TracebackType
from typing import Any

from ...errors import DeviceError, DeviceMemoryError

OLDEST = (7, 5)
"""The lowest compute capability that is supported."""
LEAST_MEMORY = 256 << 20
"""The smallest device memory that is supported, in bytes."""
FALLBACK = "or use device='cpu' (--device cpu)"
"""The end of every error message about the GPU."""


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
    number : int
        The driver's number of the GPU, from 0.
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
    number: int = 0

    def __enter__(self) -> Device:
        with failing(self.driver, self.number):  # another library may have reset it; a forked process has no context
            self.context.push()
        _entered.numbers = [*getattr(_entered, "numbers", ()), self.number]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _entered.numbers.pop()
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
_entered = threading.local()  # the numbers of the GPUs whose contexts this thread has made current, the newest last
_found: dict[int, Device] = {}  # by number
_broken: dict[int, str] = {}  # why a GPU cannot be used any more


def find(number: int = 0) -> Device:
    """The GPU with this number. A process looks for it once.

    Raises
    ------
    DeviceError
        If a package, the driver or the GPU is missing, if the GPU is too old or has too little memory, or if it failed
        earlier in this process. The message names the cause and a fix. `NoDriverError` if there is no driver.
    """
    with _lock:
        if number in _broken:
            raise DeviceError(
                f"{name_of(number)} failed earlier in this process ({_broken[number]}); start a new one, {FALLBACK}"
            )
        if number not in _found:
            _found[number] = open_device(number)
        return _found[number]


def found(number: int = 0) -> Device | None:
    """The GPU with this number if this process has found it already, and it has not failed."""
    return None if number in _broken else _found.get(number)


def name_of(number: int) -> str:
    """How messages call a GPU."""
    return "the GPU" if number == 0 else f"GPU {number}"


def count() -> int:
    """How many GPUs the driver sees; 0 if there is no driver, or it does not start. It makes no context."""
    try:
        driver = loaded()
    except DeviceError:
        return 0
    return int(driver.Device.count())


def loaded() -> Any:
    """PyCUDA's driver, started.

    Raises
    ------
    DeviceError
    """
    try:
        import cuda.core  # noqa: F401  if it is missing, fail now rather than at the first compilation
        import pycuda.driver as driver
    except ImportError as error:
        if "libcuda" in str(error) or not has_driver():
            raise NoDriverError(f"no NVIDIA driver (libcuda.so.1 is missing); install one, {FALLBACK}") from None
        advice = f"pip install 'garaph_py[gpu]', which needs the CUDA toolkit (see docs/gpus.md), {FALLBACK}"
        raise DeviceError(f"a package is missing ({error}); {advice}") from None
    try:
        driver.init()
    except driver.Error as error:
        raise DeviceError(f"the NVIDIA driver does not start ({error}); look at nvidia-smi, {FALLBACK}") from None
    return driver


def open_device(number: int = 0) -> Device:
    """The GPU with this number, with its primary context."""
    driver = loaded()
    try:
        there = driver.Device.count()
    except driver.Error as error:
        raise DeviceError(f"the NVIDIA driver does not start ({error}); look at nvidia-smi, {FALLBACK}") from None
    if there == 0:
        raise DeviceError(f"the NVIDIA driver sees no GPU; look at nvidia-smi and CUDA_VISIBLE_DEVICES, {FALLBACK}")
    if number >= there:
        raise DeviceError(
            f"there is no GPU {number}: the driver sees {there}, numbered from 0; choose other gpus, or look at "
            "nvidia-smi and CUDA_VISIBLE_DEVICES"
        )
    device = driver.Device(number)
    name, capability = device.name(), device.compute_capability()
    if capability < OLDEST:
        have, need = (".".join(map(str, item)) for item in (capability, OLDEST))
        raise DeviceError(f"{name} has compute capability {have}, but {need} is needed; use a newer GPU, {FALLBACK}")
    if device.total_memory() < LEAST_MEMORY:
        raise DeviceError(
            f"{name} has {device.total_memory() >> 20} MiB of memory, too little; use another GPU, {FALLBACK}"
        )
    try:
        context = device.retain_primary_context()
    except driver.Error as error:
        raise DeviceError(
            f"{name} gives no context ({error}); look at nvidia-smi for the processes that use it, {FALLBACK}"
        ) from None
    attribute = driver.device_attribute
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
        number,
    )


@cache
def has_driver() -> bool:
    """Whether the NVIDIA driver is installed."""
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


class failing:  # a class, because a generator's context manager costs microseconds, several times an iteration
    """A context manager that raises the driver's errors as `DeviceError` or `DeviceMemoryError`.

    If the error destroyed the context, this process cannot use the device any more. The device is the one whose context
    is current in the thread, unless its `number` is given.
    """

    def __init__(self, driver: Any, number: int | None = None) -> None:
        self._driver, self._number = driver, number

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None or not isinstance(error, self._driver.Error):
            return
        number = self._number if self._number is not None else [0, *getattr(_entered, "numbers", ())][-1]
        name = name_of(number)
        if isinstance(error, self._driver.MemoryError):
            raise DeviceMemoryError(
                f"{name} does not have enough free memory ({error}); set gpu_memory lower, {FALLBACK}"
            ) from None
        try:
            self._driver.Context.synchronize()
        except self._driver.Error:  # the error persists: the context is lost
            _broken[number] = str(error)
        raise DeviceError(f"{name} failed ({error}); look at nvidia-smi and the kernel log, {FALLBACK}") from None


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
