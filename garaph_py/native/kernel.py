"""A Python function that runs as machine code."""

from __future__ import annotations

import ctypes
import logging
import threading
import types
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any, cast

import numpy as np

from .. import events
from ..errors import ProgramError
from . import cache
from .loader import load_object
from .references import fingerprint

log = logging.getLogger("garaph_py.native")
compiling = threading.RLock()
"""Held while anything is compiled or loaded: warnings are silenced meanwhile, for the whole process."""
_loaded: dict[str, Callable[..., int]] = {}

C_TYPES = {"i64": ctypes.c_int64, "f64": ctypes.c_double}


class Kernel:
    """`function` compiled for arguments of the given types; loaded from disk when an earlier process compiled it.

    Parameters
    ----------
    signature : str
        Argument types, separated by blanks: ``i64`` and ``f64`` by value, ``u32*``, ``f32*``, ... for C-contiguous
        arrays of that dtype, ``void*`` for arrays of structures. The function returns an int64.
    function : callable
        Restricted to what Numba compiles without the Python runtime: numbers, loops, array elements, other such
        functions. Array arguments are bare pointers: indices are not checked.

    Notes
    -----
    ``kernel.function(*arrays)`` runs the same text in Python: slow, bounds-checked, and its own specification.
    """

    def __init__(self, signature: str, function: Callable[..., Any]) -> None:
        self.function = cast(types.FunctionType, function)
        self.name = function.__name__
        self.signature = tuple(signature.split())

    @cached_property
    def key(self) -> str:
        return fingerprint(cache.environment(), self.signature, self.function)

    @cached_property
    def _native(self) -> Callable[..., int]:
        with compiling:
            if self.key in _loaded:
                return _loaded[self.key]
            code = cache.load(self.key)
            if code is None:
                from .compiler import compile_object

                log.info("compiling %s", self.name)
                code = compile_object(self.function, self.signature)
                cache.store(self.key, code)
            argument_types: list[Any] = [C_TYPES.get(name, ctypes.c_void_p) for name in self.signature]
            prototype = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, *argument_types)
            return _loaded.setdefault(self.key, prototype(load_object(code)))

    @property
    def is_ready(self) -> bool:
        """Whether a call would not have to compile."""
        return self.key in _loaded or cache.load(self.key) is not None

    def __call__(self, *arguments: Any) -> int:
        """Run it. Arrays go by address: dtype and contiguity are checked, sizes are the caller's promise."""
        if len(arguments) != len(self.signature):
            raise TypeError(f"{self.name} takes {len(self.signature)} arguments, not {len(arguments)}")
        result, exception = ctypes.c_int64(), ctypes.c_void_p()
        status = self._native(
            ctypes.addressof(result), ctypes.addressof(exception), *map(native_argument, self.signature, arguments)
        )
        if status:
            raise ProgramError(f"{self.name} raised an error inside compiled code (status {status})")
        return result.value


def native_argument(kind: str, value: Any) -> Any:
    if not kind.endswith("*"):
        return value
    if value is None:
        return None
    flags, dtype = value.flags, value.dtype
    if not (flags.c_contiguous and flags.aligned and dtype.isnative and kind_of(dtype) == kind):
        raise TypeError(f"expected an aligned, C-contiguous array for {kind}, got {dtype}")
    return value.__array_interface__["data"][0]


def kind_of(dtype: np.dtype[Any]) -> str:
    """How a signature writes a pointer to `dtype`: float32 is ``"f32*"``, a structure ``"void*"``."""
    if dtype.names:
        return "void*"
    return "bool*" if dtype.kind == "b" else f"{dtype.kind}{dtype.itemsize * 8}*"


def prepare(kernels: Iterable[Kernel], listener: events.Listener = events.ignore) -> None:
    """Compile what is not on disk yet, telling `listener` how far it is: the first run of a program takes seconds."""
    missing = [kernel for kernel in kernels if not kernel.is_ready]
    for number, kernel in enumerate(missing):
        listener(events.Step("compiling (once; kept on disk)", number, len(missing), "functions"))
        kernel._native  # noqa: B018 - compiles and loads
    if missing:
        listener(events.Step("compiling (once; kept on disk)", len(missing), len(missing), "functions"))
