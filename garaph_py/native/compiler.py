"""The one module that knows Numba: a Python function in, relocatable object code out.

The function goes through `numba.cfunc`; its optimized LLVM module is stripped to the native function (the C callback
around it, which needs Python, is dropped) and emitted for this host. What is left may call nothing but libm.
"""

from __future__ import annotations

import ctypes
import types
import warnings
from typing import Any

import llvmlite.binding as llvm
import numba
from llvmlite import ir
from numba import types as nb
from numba.core.errors import NumbaError

from ..errors import ProgramError
from .intrinsics import atomic_or, struct_array, trailing_zeros
from .loader import LIBM
from .references import rebuild

SCALARS = {
    "i8": nb.int8, "u8": nb.uint8, "i16": nb.int16, "u16": nb.uint16, "i32": nb.int32, "u32": nb.uint32,
    "i64": nb.int64, "u64": nb.uint64, "f32": nb.float32, "f64": nb.float64, "bool": nb.boolean,
}  # fmt: skip
ENTRY = "kernel"
TOLERATED = ("OverflowError", "ZeroDivisionError")
"""Errors that ``i ** j`` of integers mentions: for the exponent -2**63, and never."""


@numba.extending.intrinsic
def _atomic_or(typing_context: Any, words: Any, index: Any, mask: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address = builder.gep(arguments[0], [arguments[1]], source_etype=ir.IntType(64))
        builder.atomic_rmw("or", address, arguments[2], "monotonic")
        return context.get_dummy_value()

    return nb.void(words, nb.int64, nb.uint64), emit


@numba.njit
def _struct_array(pointer, dtype):
    return numba.carray(pointer, (1 << 40,), dtype)


@numba.extending.intrinsic
def _trailing_zeros(typing_context: Any, word: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return nb.int64(nb.uint64), emit


REPLACED: dict[Any, Any] = {
    atomic_or: _atomic_or,
    struct_array: _struct_array,
    trailing_zeros: _trailing_zeros,
}


def jit(function: types.FunctionType, memo: dict[Any, Any] | None = None) -> Any:
    """`function` as a Numba dispatcher, and likewise every function it refers to; all of them are added to `memo`."""
    memo = {} if memo is None else memo
    memo.update(REPLACED)
    compiled = numba.njit(error_model="numpy", boundscheck=False, no_cpython_wrapper=True, no_cfunc_wrapper=True)
    return rebuild(function, compiled, memo=memo)


def compile_object(function: types.FunctionType, signature: tuple[str, ...]) -> bytes:
    """Object code of `function` with the arguments `signature`; its entry point is `ENTRY` and returns an int64.

    Raises
    ------
    ProgramError
        When it does not compile, or needs what a later process would not have.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Numba's advice is for authors of Numba code
            decorate = numba.cfunc(nb.int64(*map(argument_type, signature)), error_model="numpy", boundscheck=False)
            callback = decorate(jit(function).py_func)
    except NumbaError as error:
        raise ProgramError(f"{function.__qualname__} cannot be compiled: {error}") from None
    entry = callback.native_name.removeprefix("cfunc.")
    module = reduced(callback._library, entry)
    problem = obstacle(callback._library, module)
    if problem:
        raise ProgramError(f"{function.__qualname__} {problem}")
    module = llvm.parse_assembly(str(module).replace(entry, ENTRY))
    return bytes(target_machine().emit_object(module))


def reduced(library: Any, entry: str) -> Any:
    """The optimized LLVM module of a Numba library, without what its function `entry` does not need."""
    module = llvm.parse_assembly(library.get_llvm_str())
    for item in (*module.functions, *module.global_variables):
        if not item.is_declaration and item.name != entry:
            item.linkage = "internal"
    passes = llvm.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(module, llvm.create_pass_builder(target_machine(), llvm.create_pipeline_tuning_options(3)))
    return module


def obstacle(library: Any, module: Any) -> str | None:
    """Why the code of `library`, reduced to `module`, cannot run in another process without Python; None if it can."""
    if library.has_dynamic_globals:
        return "refers to an address in this process: a function pointer, or a global array of more than a megabyte"
    libm = ctypes.CDLL(LIBM)
    foreign = [
        item.name
        for item in module.functions
        if item.is_declaration and not item.name.startswith("llvm.") and not hasattr(libm, item.name)
    ]
    if any(name.startswith("NRT_") for name in foreign):
        return "allocates memory: an array, a list, a set or a string"
    if foreign:
        return f"calls {', '.join(foreign)}, which is part of Python or Numba"
    errors = [str(item) for item in module.global_variables if item.name.startswith(".const.pickledata")]
    if not all("sha1" in error or any(name in error for name in TOLERATED) for error in errors):
        return "can raise an error, as an index out of range or a step of 0 does"
    return None


def argument_type(name: str) -> Any:
    """The Numba type of ``"i64"``, ``"f32*"``, ``"void*"`` and the like."""
    if name == "void*":
        return nb.voidptr
    return nb.CPointer(SCALARS[name[:-1]]) if name.endswith("*") else SCALARS[name]


def target_machine() -> Any:
    return llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=host_features(), opt=3, reloc="pic", codemodel="default", jit=True
    )


def host_features() -> str:
    try:
        return str(llvm.get_host_cpu_features().flatten())
    except RuntimeError:  # not known for every architecture; the CPU's name alone is then enough
        return ""
