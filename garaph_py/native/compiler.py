"""Compiles a Python function to object code. Only this module, `lowering`, `modules` and the checks in `program` use
Numba.

Numba translates the function, and each that it calls, to an LLVM module. These are linked, optimized as a whole, and
emitted as object code for this host. The code may call only libm and the clock.
"""

from __future__ import annotations

import contextlib
import ctypes
import types
import warnings
from collections.abc import Iterator
from typing import Any

import llvmlite.binding as llvm
import numba
from numba import types as nb
from numba.core.errors import NumbaError
from numba.core.types.functions import BaseFunction

from ..errors import ParameterError, ProgramError
from ..system.garbage import uncollected
from .loader import ENTRY, LIBM
from .lowering import REPLACED, host_features, loader
from .modules import Pipeline, linked, no_counts
from .references import fingerprint, rebuild

TOLERATED = ("OverflowError", "ZeroDivisionError")
"""Errors in Numba's code for ``i ** j`` of integers that do not count as errors that the function can raise. The first
is raised only for the exponent -2**63, the second never."""


SETTINGS = {"OPT": type(numba.config.OPT)(3), "BOUNDSCHECK": None}
"""Numba's settings, by their names in `numba.config`, without which its code needs Python. These are Numba's defaults;
a user may have set others in the environment, as NUMBA_OPT=0 or NUMBA_BOUNDSCHECK=1 do."""
OPTIONS: dict[str, Any] = {
    "error_model": "numpy", "boundscheck": False, "no_cpython_wrapper": True, "no_cfunc_wrapper": True,
    "pipeline_class": Pipeline,
}  # fmt: skip
"""How Numba compiles every function."""
ADDRESS = "numba.dynamic.globals"
"""How the names of variables begin that hold an address in this process."""
MOST_SHARED = 1000
"""Number of dispatchers that are kept for later kernels. The kernels of one program need about a hundred."""
_shared: dict[str, Any] = {}
"""Dispatchers of earlier kernels, by the fingerprints of their functions; those that were used last are at the end."""
numbas_resolve = BaseFunction.get_call_type
MOST_RESOLVED = 10_000
"""Signatures that are kept for later kernels. Those of one program call some thousand different ones."""
_resolved: dict[tuple[Any, ...], tuple[Any, Any, Any]] = {}
"""Signatures by function, typing context and types of arguments."""


class SharedMemo(dict[Any, Any]):
    """A memo for `rebuild` of one kernel, which finds the dispatchers that earlier kernels made of equal functions.

    Most functions of a kernel are small and part of other kernels, too. Compiling each of them takes Numba some 60 ms.
    """

    def __init__(self) -> None:
        super().__init__(REPLACED)
        self._made: dict[str, Any] = {}

    def __contains__(self, function: object) -> bool:
        if super().__contains__(function):
            return True
        key = fingerprint(function)
        found = _shared.pop(key, None)
        if found is not None:
            _shared[key] = found
            super().__setitem__(function, found)
        return found is not None

    def __setitem__(self, function: Any, dispatcher: Any) -> None:
        super().__setitem__(function, dispatcher)
        self._made[fingerprint(function)] = dispatcher

    def share(self) -> None:
        """Let later kernels use the dispatchers that this one has made, which are complete now."""
        _shared.update(self._made)
        for key in list(_shared)[:-MOST_SHARED]:
            del _shared[key]


def resolve(function: Any, context: Any, args: Any, kws: Any) -> Any:
    """The signature of a call of one of Numba's own functions with arguments of these types, in place of
    `BaseFunction.get_call_type`, which tries one template after another: nine in ten calls are like an earlier one.
    """
    key = id(function), id(context), tuple(args), tuple(dict(kws).items())
    found = _resolved.get(key)  # a user's thread that compiles may come here while `own_settings` clears it
    if found is None:
        found = _resolved[key] = numbas_resolve(function, context, args, kws), function, context  # these keep their ids
    return found[0]


@contextlib.contextmanager
def own_settings() -> Iterator[None]:
    """In ``with``: Numba has the `SETTINGS` that kernels need, and remembers the signatures of calls (`resolve`). The
    caller holds the lock `kernel.compiling`.

    Python does not look for garbage meanwhile: among Numba's many objects that takes a sixth of the time.

    Raises
    ------
    ParameterError
        If the environment turns Numba off.
    """
    if numba.config.DISABLE_JIT:
        raise ParameterError(
            "NUMBA_DISABLE_JIT is set, so Numba cannot compile the vertex program; unset it in the environment"
        )
    users = {name: getattr(numba.config, name) for name in SETTINGS}
    vars(numba.config).update(SETTINGS)
    BaseFunction.get_call_type = resolve  # type: ignore[assignment, method-assign]
    try:
        with uncollected():
            yield
    finally:
        BaseFunction.get_call_type = numbas_resolve  # type: ignore[method-assign]
        if len(_resolved) > MOST_RESOLVED:
            _resolved.clear()
        vars(numba.config).update(users)


def jit(function: types.FunctionType, memo: dict[Any, Any] | None = None) -> Any:
    """`function` as a Numba dispatcher, which refers to dispatchers of the functions that `function` refers to.

    `memo` maps functions to their dispatchers; the new ones are added to it.
    """
    memo = {} if memo is None else memo
    memo.update(REPLACED)
    return rebuild(function, numba.njit(forceinline=True, **OPTIONS), memo=memo)


def compile_object(function: types.FunctionType, signature: tuple[str, ...], joins: bool = False) -> bytes:
    """The object code of `function` for arguments of the types in `signature`.

    Its entry point, named `ENTRY`, is ``int32 kernel(int64 *result, void **exception, const int64 *row)``, which
    returns a status, 0 for success. The arguments are one row of 64-bit words, so that all kernels have one prototype.
    For `joins`, see `Kernel`.

    Raises
    ------
    ProgramError
        If the function cannot be compiled, or its code would not run in another process.
    ParameterError
        If the environment turns Numba off.
    """
    memo = SharedMemo()
    try:
        with own_settings(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Numba's advice is for authors of Numba code
            kernel = numba.njit(**OPTIONS)(on_row(jit(function, memo), signature))
            kernel.compile(nb.int64(nb.CPointer(nb.int64)))
    except NumbaError as error:
        raise ProgramError(f"{function.__qualname__} cannot be compiled: {error}") from None
    memo.share()
    (outcome,) = kernel.overloads.values()
    module = optimized(outcome, joins)
    problem = obstacle(module)
    if problem:
        raise ProgramError(f"{function.__qualname__} {problem}")
    module.get_function(outcome.fndesc.llvm_func_name).name = ENTRY
    return bytes(target_machine().emit_object(module))


def on_row(function: Any, signature: tuple[str, ...]) -> Any:
    """A function that reads the arguments of `function` from a row of words and calls it."""
    names: dict[str, Any] = {"function": function, "load": loader(signature)}
    exec("def entry(row): return function(*load(row))", names)
    return names["entry"]


def optimized(outcome: Any, joins: bool = False) -> Any:
    """The LLVM module of what Numba compiled with `OPTIONS`: one function, optimized, and what is left beside it."""
    module, entry = linked(outcome.library), outcome.fndesc.llvm_func_name
    module.link_in(no_counts())
    for item in (*module.functions, *module.global_variables):
        if not item.is_declaration and not item.name.startswith(ADDRESS):
            item.linkage = "external" if item.name == entry else "internal"
    options = llvm.create_pipeline_tuning_options(3)
    options.loop_vectorization, options.slp_vectorization = True, joins
    builder = llvm.create_pass_builder(target_machine(), options)
    passes = builder.getModulePassManager()
    passes.add_strip_dead_prototype_pass()
    passes.run(module, builder)
    return module


def obstacle(module: Any) -> str | None:
    """Why the code of `module` cannot run in a process without Python; None if it can."""
    if any(item.name.startswith(ADDRESS) for item in module.global_variables):
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


def target_machine() -> Any:
    """LLVM's description of this host, for which code is emitted."""
    return llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=host_features(), opt=3, reloc="pic", codemodel="default", jit=True
    )
