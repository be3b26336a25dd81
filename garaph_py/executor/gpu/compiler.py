"""The one module that knows the CUDA compilers: a bound program in, a linked cubin out. Needs no GPU.

The program's functions go through numba-cuda to LTO-IR, the kernels through NVRTC to LTO-IR, and nvJitLink makes one
cubin of both, in which the functions are inlined. Importing this module is cheap; the compilers are imported when
something has to be compiled.
"""

from __future__ import annotations

import importlib.util
import types
import warnings
from functools import cache as remember
from pathlib import Path
from typing import Any

from ... import events
from ...errors import DeviceError, GaraphError, ProgramError
from ...native import cache
from ...native.kernel import compiling
from ...native.references import fingerprint, rebuild
from ...program import BoundProgram
from ...program.functions import partial_dtype
from .interface import Interface, Wrapper, can_replicate
from .task import Layouts
from .ufuncs import teach

PACKAGES = ("numba", "numba-cuda", "cuda-core", "cuda-bindings", "nvidia-cuda-nvrtc", "nvidia-nvjitlink", "nvidia-nvvm")
BEFORE_PROGRAM = ("words.cuh", "packed.cuh", "atomics.cuh")
AFTER_PROGRAM = (
    "edges.cuh", "segments.cuh", "vertices.cuh", "mark_starts.cu", "pack.cu", "initialize.cu", "prepare.cu",
    "gather_segmented.cu", "gather_packed.cu", "sum_hubs.cu", "apply.cu", "report.cu",
)  # fmt: skip
REPLICATED = ("gather_replicated.cu",)


def cubin(bound: BoundProgram, architecture: str, listener: events.Listener = events.ignore) -> bytes:
    """Machine code of all kernels for `bound`, from the cache on disk where it is there.

    Parameters
    ----------
    architecture : str
        ``"sm_90"`` and the like.
    listener : callable
        Hears of compilation, if there is any.

    Raises
    ------
    ProgramError
        If a function of the program cannot be compiled for a GPU.
    DeviceError
        If the compilers do not know the architecture.
    """
    key = fingerprint("cubin", bound.key, architecture, environment())
    code = cache.load(key)
    if not code:
        listener(events.Step("compiling for the GPU", 0, 1, "functions"))
        code = link(bound, architecture, "cubin")
        cache.store(key, code)
        listener(events.Step("compiling for the GPU", 1, 1, "functions"))
    return code


def link(bound: BoundProgram, architecture: str, output: str) -> bytes:
    """The linked kernels as ``"cubin"``, or as ``"ptx"`` for people and tests to read."""
    try:
        from cuda.core import Linker, LinkerOptions, ObjectCode
    except ImportError as error:
        raise ProgramError(f"cuda-core cannot be imported ({error}); pip install 'garaph_py[gpu]'") from None
    interface = Interface(bound)
    try:
        parts = [compile_kernels(source(bound, interface), architecture)]
        with compiling:
            parts += [ObjectCode.from_ltoir(compile_function(bound, item, architecture)) for item in interface.wrappers]
        options = LinkerOptions(arch=architecture, link_time_optimization=True, ptx=output == "ptx")
        return bytes(Linker(*parts, options=options).link(output).code)
    except ProgramError:
        raise
    except Exception as error:  # NVRTC's and nvJitLink's are of many kinds
        problem = " ".join(str(error).replace("\0", "").split()) or type(error).__name__
        raise DeviceError(
            f"no code can be made for {architecture} ({problem[:200]}); update the compilers with pip "
            "install -U 'garaph_py[gpu]', or use device='cpu' (--device cpu)"
        ) from None


def source(bound: BoundProgram, interface: Interface) -> str:
    """The CUDA C++ of all kernels for one program, in one text."""
    layouts = Layouts(bound.parameters.dtype, partial_dtype(bound.total))
    files = AFTER_PROGRAM + (REPLICATED if can_replicate(bound) else ())
    pieces = [text(name) for name in BEFORE_PROGRAM] + [interface.header, layouts.header()]
    return "\n".join(pieces + [text(name) for name in files])


def text(name: str) -> str:
    """A file of ``kernels/``, under its own name in messages."""
    return f'#line 1 "{name}"\n{(folder() / name).read_text()}'


@remember
def environment() -> str:
    """Everything outside a program that its cubin depends on: kernels, what generates code, versions of compilers."""
    here, folder = Path(__file__), Path(__file__).parents[2]
    generators = [here, *(here.with_name(name) for name in ("interface.py", "task.py", "ufuncs.py"))]
    generators += [folder / "native" / "references.py", *sorted((folder / "program").glob("*.py"))]
    kernels = [text(name) for name in BEFORE_PROGRAM + AFTER_PROGRAM + REPLICATED]
    return fingerprint(cache.versions_of(PACKAGES), [path.read_bytes() for path in generators], kernels)


def compile_kernels(code: str, architecture: str) -> Any:
    """CUDA C++ as LTO-IR."""
    from cuda.core import Program, ProgramOptions

    options = ProgramOptions(
        arch=architecture, std="c++17", relocatable_device_code=True, link_time_optimization=True,
        no_display_error_number=False,
    )  # fmt: skip
    return Program(code, "c++", options).compile("ltoir")


def compile_function(bound: BoundProgram, wrapper: Wrapper, architecture: str) -> bytes:
    """A wrapper and the functions it calls, as LTO-IR."""
    from numba import cuda, from_dtype
    from numba import types as nb
    from numba.cuda import dispatcher

    teach()
    capability = (int(architecture[3:-1]), int(architecture[-1]))
    arguments = [from_dtype(dtype) for dtype in wrapper.arguments]
    if isinstance(wrapper.returns, list):
        arguments += [nb.CPointer(from_dtype(dtype)) for dtype in wrapper.returns]
        result = nb.void
    else:
        result = from_dtype(wrapper.returns)
    device_function = cuda.jit(device=True, forceinline=True)
    memo: dict[types.FunctionType, Any] = {}
    asks_device = dispatcher.get_current_device
    # it asks the GPU in this machine for its architecture; ours need not have one
    dispatcher.get_current_device = lambda: types.SimpleNamespace(compute_capability=capability)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function = rebuild(
                wrapper.function,
                lambda copy: copy if copy.__code__ is wrapper.function.__code__ else device_function(copy),
                memo=memo,
            )
            code, _ = cuda.compile(
                function, result(*arguments), device=True, abi="c", abi_info={"abi_name": wrapper.name},
                output="ltoir", cc=capability, forceinline=True,
            )  # fmt: skip
    except Exception as error:  # numba-cuda fails in many ways on what it does not know
        name = wrapper.name.removeprefix("garaph_")
        problem = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
        raise ProgramError(
            f"{bound.name}.{name} cannot be compiled for a GPU: {problem}; use functions of math on numbers, or "
            "device='cpu'"
        ) from None
    finally:
        dispatcher.get_current_device = asks_device
    return bytes(code)


def folder() -> Path:
    """The folder of CUDA sources: installed as ``garaph_py.kernels``, or beside the package in a plain checkout.

    Raises
    ------
    GaraphError
        If the installation lacks it.
    """
    spec = importlib.util.find_spec("garaph_py.kernels")
    if spec is not None and spec.origin is not None:
        return Path(spec.origin).parent
    checkout = Path(__file__).parents[3] / "kernels"
    if (checkout / "__init__.py").is_file():
        return checkout
    raise GaraphError(f"the CUDA sources are missing: no garaph_py.kernels and no {checkout}; reinstall garaph_py")
