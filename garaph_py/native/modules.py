"""LLVM modules of functions, as Numba makes them for kernels: they are optimized only as parts of a whole kernel.

By itself Numba optimizes each function, together with all that it calls, and makes machine code of it. A kernel
consists of some thirty functions that are inlined in one another, so all of that work but the last part is lost.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import llvmlite.binding as llvm
from numba.core import cgutils
from numba.core.codegen import CodeLibrary, JITCPUCodegen
from numba.core.compiler import Compiler
from numba.core.registry import cpu_target
from numba.core.runtime import rtsys


class Pipeline(Compiler):  # type: ignore[misc]
    """Numba's compiler, but what it compiles is kept in a `Library`: for the argument ``pipeline_class`` of `njit`."""

    def __init__(self, typing_context: Any, target: Any, *others: Any) -> None:
        super().__init__(typing_context, target_context(), *others)


@cache
def target_context() -> Any:
    """Numba's description of the host, with `Codegen` in place of Numba's own."""
    numbas = cpu_target.target_context
    numbas.refresh()  # else the first function to be compiled does it, and gives Numba's own functions a `Library`
    return numbas.subtarget(_internal_codegen=Codegen("garaph_py"))


class Codegen(JITCPUCodegen):  # type: ignore[misc]
    """Makes a `Library` for each function."""

    def create_library(self, name: str, **options: Any) -> Library:
        return Library(self, name)

    def set_env(self, env_name: str, env: Any) -> None:
        """Do nothing: no machine code is there to use the environment."""


class Library(CodeLibrary):  # type: ignore[misc]
    """The LLVM module of one function, and the libraries of the functions that it calls.

    Attributes
    ----------
    module : llvmlite.binding.ModuleRef
        Not optimized.
    needs : list of CodeLibrary
        Those of the functions that it calls; what Numba compiles for itself is in libraries of Numba's.
    """

    def __init__(self, codegen: Any, name: str) -> None:
        super().__init__(codegen, name)
        self.module = llvm.parse_assembly(str(self.create_ir_module(name)))
        self.needs: list[Any] = []

    def add_linking_library(self, library: Any) -> None:
        if library is not rtsys.library:  # which counts references to memory that a kernel cannot allocate
            self.needs.append(library)

    def add_ir_module(self, ir_module: Any) -> None:
        self.module.link_in(llvm.parse_assembly(cgutils.normalize_ir_text(str(ir_module))))

    def finalize(self) -> None:
        """Do nothing: `linked` and `compiler.reduced` finish the work."""

    def get_pointer_to_function(self, name: str) -> int:
        """The address of the function's wrapper for Python: it has none."""
        return 0

    def get_function(self, name: str) -> Any:
        return self.module.get_function(name)

    def get_llvm_str(self) -> str:
        return str(linked(self))

    def get_asm_str(self) -> str:
        raise NotImplementedError("no machine code is made of a function alone")


def linked(library: Library) -> Any:
    """A module with the function of `library` and all that it calls."""
    module, found = library.module.clone(), {library}
    waiting = list(library.needs)
    while waiting:
        needed = waiting.pop()
        if needed not in found:
            found.add(needed)
            module.link_in(part(needed))
            waiting += getattr(needed, "needs", ())
    return module


def part(library: Any) -> Any:
    """A copy of the module of `library` to link to others, which may define some of the same functions."""
    own = isinstance(library, Library)
    module = library.module.clone() if own else llvm.parse_assembly(library.get_llvm_str())
    for function in module.functions:
        if not function.is_declaration and function.linkage == llvm.Linkage.external:
            function.linkage = "weak_odr"  # of equal ones, any
    return module
