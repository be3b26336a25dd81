"""LLVM modules of functions, as Numba makes them for kernels: they are optimized only as parts of a whole kernel.

By itself Numba optimizes each function, together with all that it calls, and makes machine code of it. A kernel
consists of some thirty functions that are inlined in one another, so all of that work but the last part is lost. Nor do
these functions need all of Numba's `Passes` over them.
"""

from __future__ import annotations

from functools import cache
from types import CodeType
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba.core import cgutils
from numba.core.codegen import CodeLibrary, JITCPUCodegen
from numba.core.compiler import Compiler
from numba.core.compiler_machinery import PassManager
from numba.core.errors import new_error_context  # type: ignore[attr-defined]
from numba.core.registry import cpu_target
from numba.core.runtime import rtsys
from numba.core.typed_passes import NopythonRewrites
from numba.core.untyped_passes import InlineClosureLikes, MakeFunctionToJitFunction

ON_ARRAYS = (NopythonRewrites,)
"""Passes that join operations on whole arrays. Their results would be new arrays, which a kernel cannot have."""
ON_CLOSURES = (InlineClosureLikes, MakeFunctionToJitFunction)
"""Passes for functions that a function defines."""


class Pipeline(Compiler):  # type: ignore[misc]
    """Numba's compiler, but what it compiles is kept in a `Library`: for the argument ``pipeline_class`` of `njit`."""

    def __init__(self, typing_context: Any, target: Any, *others: Any) -> None:
        super().__init__(typing_context, target_context(), *others)

    def define_pipelines(self) -> list[Passes]:
        (numbas,) = super().define_pipelines()
        defines = any(isinstance(constant, CodeType) for constant in self.state.func_id.code.co_consts)
        return [Passes(numbas, ON_ARRAYS if defines else ON_ARRAYS + ON_CLOSURES)]


class Passes(PassManager):  # type: ignore[misc]
    """The passes of `numbas`, but those `without`. Nobody is told of each, times it or prints what it does."""

    def __init__(self, numbas: Any, without: tuple[type, ...]) -> None:
        super().__init__(numbas.pipeline_name)
        self.passes = [item for item in numbas.passes if item[0] not in without]
        self.finalize()

    def _runPass(self, index: int, one: Any, state: Any) -> None:
        one.analysis = self._analysis
        with new_error_context("Pass {name}", name=one.name()):
            one.run_initialization(state)
            one.run_pass(state)
            one.run_finalizer(state)


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
        Its functions, as Numba translates them.
    needs : list of CodeLibrary
        Those of the functions that it calls; what Numba compiles for itself is in libraries of Numba's.
    """

    def __init__(self, codegen: Any, name: str) -> None:
        super().__init__(codegen, name)
        self.module = llvm.parse_assembly(str(self.create_ir_module(name)))
        self.needs: list[Any] = []

    def add_linking_library(self, library: Any) -> None:
        if library is not rtsys.library:  # which counts references, see `no_counts`
            self.needs.append(library)

    def add_ir_module(self, ir_module: Any) -> None:
        self.module.link_in(shared(cgutils.normalize_ir_text(str(ir_module))))

    def finalize(self) -> None:
        """Do nothing: `linked` and `compiler.optimized` do that."""

    def get_pointer_to_function(self, name: str) -> int:
        """The address of the function's wrapper for Python: it has none."""
        return 0

    def _get_module_for_linking(self) -> Any:
        """What Numba asks for where a function of its own, as `map`, calls this one."""
        return linked(self)

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
        if needed in found:
            continue
        found.add(needed)
        if isinstance(needed, Library):
            module.link_in(needed.module, preserve=True)
            waiting += needed.needs
        else:
            module.link_in(shared(needed.get_llvm_str()))
    return module


def shared(text: str) -> Any:
    """The LLVM module `text`, to be linked to others that may define some of the same functions."""
    module = llvm.parse_assembly(text)
    for function in module.functions:
        if not function.is_declaration and function.linkage == llvm.Linkage.external:
            function.linkage = "weak_odr"
    return module


def no_counts() -> Any:
    """A module that defines how references to memory are counted: not at all, for a kernel cannot allocate memory.

    Calls of Numba's functions for that would keep LLVM from much, until it finds them to do nothing.
    """
    module = ir.Module()
    for name in ("NRT_incref", "NRT_decref"):
        function = ir.Function(module, ir.FunctionType(ir.VoidType(), [ir.IntType(8).as_pointer()]), name)
        function.attributes.add("alwaysinline")
        ir.IRBuilder(function.append_basic_block()).ret_void()
    return llvm.parse_assembly(str(module))
