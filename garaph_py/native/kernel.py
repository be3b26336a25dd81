"""Kernels: Python functions that run as machine code, and tables of arguments for many calls of one."""

from __future__ import annotations

import ctypes
import logging
import types
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import compress
from operator import is_not
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from .. import events
from ..errors import ProgramError
from ..system import interrupts
from . import cache, compiling
from .loader import load_object
from .references import fingerprint

Array = npt.NDArray[Any]

log = logging.getLogger("garaph_py.native")
PROTOTYPES = [
    kind(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
    for kind in (ctypes.CFUNCTYPE, ctypes.PYFUNCTYPE)
]
"""Functions that call code with the addresses of result, exception and row: without the GIL, and with it."""
_loaded: dict[str, int] = {}
"""Addresses of loaded code by kernel key."""
_read: dict[str, bytes] = {}
"""Code that has been read from disk, and that nobody has called yet, by kernel key."""


class Kernel:
    """A Python function compiled for arguments of given types, or loaded from disk if an earlier process compiled it.

    Parameters
    ----------
    signature : str
        Argument types, separated by blanks: ``i64`` and ``f64`` by value, ``u32*``, ``f32*``, ... for C-contiguous
        arrays of that dtype, ``void*`` for arrays of structures. The function returns an int64.
    function : callable
        A function that Numba can compile without the Python runtime: it may use numbers, loops, array elements, and
        other such functions. Array arguments are bare pointers: indices are not checked.
    joins : bool
        Whether the compiler looks for equal operations on neighbouring numbers, to do them with one instruction. That
        takes it time, and pays where the function has some, as for values that are rows of columns.
    holds_gil : bool
        Whether a call keeps Python's lock, as C functions of Python need it. If one of them raises, so does the call.

    Notes
    -----
    ``kernel.function(*arrays)`` runs the function in Python, which is slow but checks bounds. It defines what the
    compiled code must do. `plain` has, for each argument, the type of the values whose address an `ArgumentTable` holds
    (arrays), or that it holds as they are (whole numbers); None for others.
    """

    def __init__(
        self, signature: str, function: Callable[..., Any], joins: bool = False, holds_gil: bool = False
    ) -> None:
        self.joins, self.holds_gil = joins, holds_gil
        self.function = cast(types.FunctionType, function)
        self.name = function.__name__
        self.signature = tuple(signature.split())
        self.plain = tuple(
            np.ndarray if kind.endswith("*") else int if kind[0] in "iu" else None for kind in self.signature
        )

    @cached_property
    def key(self) -> str:
        return fingerprint(cache.environment(), self.signature, self.function, self.joins)

    @cached_property
    def _native(self) -> tuple[int, Callable[..., int]]:
        """The address of the machine code, and a function that calls it."""
        with compiling.lock:
            address = _loaded.get(self.key)
            if address is None:
                code = _read.pop(self.key, None) or cache.load(self.key)
                if code is None:
                    from .compiler import compile_object

                    log.info("compiling %s", self.name)
                    code = compile_object(self.function, self.signature, self.joins)
                    cache.store(self.key, code)
                address = _loaded[self.key] = load_object(code)
            return address, PROTOTYPES[self.holds_gil](address)

    @property
    def address(self) -> int:
        """The address of the machine code, which is compiled or loaded first if necessary."""
        return self._native[0]

    @property
    def is_ready(self) -> bool:
        """Whether it has been compiled, so that nobody need compile it before its first call."""
        if self.key in _loaded or self.key in _read:
            return True
        code = cache.load(self.key)
        if code is not None:
            _read[self.key] = code
        return code is not None

    def __call__(self, *arguments: Any) -> int:
        """Run the kernel and return its result. Arrays are passed by address: dtypes are checked, sizes are not."""
        return self.rows(1, *arguments)()

    def rows(self, count: int, *arguments: Any) -> ArgumentTable:
        """A table of the arguments of `count` calls, which one thread or a pool can run; see `ArgumentTable.put`."""
        return ArgumentTable(self, count).fill(*arguments)


@dataclass
class PerCall:
    """An array argument that differs from call to call: call k gets row k of `array`."""

    array: Array


@dataclass(frozen=True)
class From:
    """An array argument of which call k gets the part from element ``starts[k]`` on."""

    array: Array
    starts: Array


MOST_KNOWN = 64
"""Arrays of which `Addresses` keeps the addresses: a run has some thirty, besides those that it uses only once."""


class Addresses:
    """The addresses of arrays that kernels took before; to find one takes Python most of a microsecond. The arrays stay
    in memory as long as they are known."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Array, str, int]] = {}  # by `id`, which no other array gets meanwhile

    def of(self, kind: str, array: Array) -> int:
        """The address of `array`; raise `TypeError` if it does not fit an argument of type `kind`."""
        known = self._known.get(id(array))
        if known is not None and known[1] == kind:
            return known[2]
        address = checked_address(kind, array)
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        self._known[id(array)] = array, kind, address
        return address


NOTHING = object()
"""What an `ArgumentTable` holds for an argument that may differ from call to call, or has not been set."""


class ArgumentTable:
    """The arguments of `count` calls of one kernel: a row of 64-bit words for each call.

    A table that is used often is kept and filled again.

    Attributes
    ----------
    held : list
        What the rows hold, by argument: an array or `PerCall`, the number that all rows have, if they have one, or an
        array of their numbers that nobody may change. `put` changes nothing if it gets the same object.
    """

    def __init__(self, kernel: Kernel, count: int) -> None:
        self.kernel = kernel
        self.words = np.zeros((count, len(kernel.signature)), np.int64)
        self.results = np.zeros(count, np.int64)
        self._row = self.words[0] if count == 1 else None
        self.held: list[Any] = [NOTHING] * len(kernel.signature)
        self._signature, self._plain = kernel.signature, kernel.plain
        self._addresses = address_of(self.words), address_of(self.results)
        self._stride, self._native = self.words.strides[0], kernel._native[1]

    def __len__(self) -> int:
        return len(self.words)

    def put(self, k: int, value: Any, known: Addresses | None = None) -> None:
        """Set argument `k` of every call.

        Parameters
        ----------
        k : int
        value : number, array, PerCall, From or None
            A number or an array for all calls; an array of `count` numbers, one for each call; or `PerCall` or `From`
            for an array argument that differs. None is a null pointer.
        known : Addresses, optional
            Keeps the address of an array.
        """
        held = self.held[k]
        if value is held:
            return
        kind, given = self._signature[k], type(value)
        if self._plain[k] is not np.ndarray:
            self._put_number(k, value)
        elif given is PerCall:
            if not (type(held) is PerCall and held.array is value.array):
                address, count = checked_address(kind, value.array), len(self)
                self._set(k, address if count == 1 else address + np.arange(count) * value.array.strides[0])
            self.held[k] = value
        elif given is From:
            begins = value.starts * value.array.itemsize
            self.words[:, k] = checked_address(kind, value.array) + begins
            self.held[k] = (value,)  # `starts` may change
        else:
            find = checked_address if known is None else known.of
            self._set(k, 0 if value is None else find(kind, value))
            self.held[k] = value

    def put_all(self, places: Sequence[int], values: Sequence[Any], known: Addresses | None = None) -> None:
        """Like `put` for each place and value, without a step of Python for what is there already, and without a call
        of `put` for an array or a number that all calls share: most are one or the other."""
        held, put, row, kinds, plain = self.held, self.put, self._row, self._signature, self._plain
        find = checked_address if known is None else known.of
        differs = map(is_not, map(held.__getitem__, places), values)
        for k, value in compress(zip(places, values, strict=True), differs):
            given = type(value)
            if given is not plain[k]:
                put(k, value, known)
                continue
            word = value if given is int else find(kinds[k], value)
            if row is None:
                self.words[:, k].fill(word)  # faster than an assignment
            else:
                row[k] = word
            held[k] = value

    def _put_number(self, k: int, value: Any) -> None:
        """Set argument `k`, a number; one that all calls have already is not written again."""
        if type(value) is int:
            held = self.held[k]
            if type(held) is int and held == value:
                return
            self.held[k] = value
        else:
            self.held[k] = value if type(value) is np.ndarray and not value.flags.writeable else NOTHING
        if self._signature[k] == "f64":
            self.words[:, k].view(np.float64)[:] = value
        else:
            self._set(k, value)

    def _set(self, k: int, word: Any) -> None:
        """Write argument `k` of all calls: one word, or one for each. A column takes ten times as long as one word."""
        if type(word) is not int:
            self.words[:, k] = word
        elif self._row is not None:
            self._row[k] = word
        else:
            self.words[:, k].fill(word)  # faster than an assignment

    def fill(self, *arguments: Any) -> ArgumentTable:
        """Set all arguments; return this table."""
        if len(arguments) != self.words.shape[1]:
            raise TypeError(f"{self.kernel.name} takes {self.words.shape[1]} arguments, not {len(arguments)}")
        self.put_all(range(len(arguments)), arguments)
        return self

    def __call__(self, k: int = 0) -> int:
        """Run call `k` and return its result."""
        rows, results = self._addresses
        if self._native(results + 8 * k, exception_address, rows + k * self._stride):
            raise self.failure()
        return int(self.results[k])

    @property
    def job(self) -> tuple[int, int, int, int, int]:
        """A job's fields (see `job`): the code's address, the rows' address, bytes in a row, number of rows, and the
        results' address."""
        return self.kernel.address, self._addresses[0], self._stride, len(self), self._addresses[1]

    def failure(self) -> ProgramError:
        """The error to raise when a call has failed."""
        return ProgramError(f"{self.kernel.name} raised an error inside compiled code")


_exception = ctypes.c_void_p()
exception_address = ctypes.addressof(_exception)
"""Address of a word to which compiled code that fails writes a pointer, which is not read."""


addressof, from_buffer = ctypes.addressof, ctypes.c_char.from_buffer


def address_of(array: Any) -> int:
    """The address of the first element of `array`."""
    try:
        return addressof(from_buffer(array))  # ten times as fast, but not for read-only arrays
    except (TypeError, ValueError):
        return int(array.__array_interface__["data"][0])


def checked_address(kind: str, array: Any) -> int:
    """The address of `array`; raise `TypeError` if it does not fit an argument of type `kind`."""
    flags, dtype = array.flags, array.dtype
    if not (flags.c_contiguous and flags.aligned and kind_of(dtype) == kind and dtype.isnative):
        raise TypeError(f"expected an aligned, C-contiguous array for {kind}, got {dtype}")
    return address_of(array)


@lru_cache(256)
def kind_of(dtype: np.dtype[Any]) -> str:
    """How a signature writes a pointer to `dtype`: float32 is ``"f32*"``, a structure ``"void*"``."""
    if dtype.names:
        return "void*"
    return "bool*" if dtype.kind == "b" else f"{dtype.kind}{dtype.itemsize * 8}*"


def prepare(kernels: Iterable[Kernel], listener: events.Listener = events.ignore) -> None:
    """Compile those `kernels` that are not on disk yet, which takes seconds, and report the progress to `listener`."""
    missing = [kernel for kernel in kernels if "_native" not in kernel.__dict__ and not kernel.is_ready]
    if not missing:
        return
    with compiling.compiling("compiling (once; kept on disk)", len(missing), listener) as report:
        for number, kernel in enumerate(missing):
            interrupts.check()
            if number:
                report(number)
            kernel._native  # noqa: B018 - compiles and loads
