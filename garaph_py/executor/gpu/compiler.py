"""Compiles a bound program and the CUDA kernels to one cubin. It needs no GPU.

No other module uses the CUDA compilers.

numba-cuda compiles the program's functions to LTO-IR, NVRTC compiles the kernels to LTO-IR, and nvJitLink links both
to one cubin, in which the functions are inlined. The compilers are imported when something has to be compiled, so
importing this module is cheap.
"""

from __future__ import annotations

import importlib.util
import types
import warnings
from functools import cache as remember
from functools import partial
from pathlib import Path
from typing import Any

from ... import events
from ...errors import DeviceError, GaraphError, ProgramError
from ...native import cache, u32_at
from ...native.compiling import compiling, lock
from ...native.references import fingerprint, rebuild
from ...program import BoundProgram
from .header import NAME, header
from .interface import Interface, Wrapper
from .ufuncs import teach

MAIN = "kernels.cu"
"""The file of ``kernels/`` that includes all kernels."""
PACKAGES = ("numba", "numba-cuda", "cuda-core", "cuda-bindings", "nvidia-cuda-nvrtc", "nvidia-nvjitlink", "nvidia-nvvm")
"""Packages whose versions are part of the cache key, because the machine code depends on them."""
GENERATING = ("codec", "executor", "executor/gpu", "native", "program")
"""Folders of the package whose modules generate GPU code. Their text is part of the cache key."""


def cubin(bound: BoundProgram, architecture: str, listener: events.Listener = events.ignore) -> bytes:
    """Return the machine code of all kernels for `bound`, from the cache on disk if it was compiled before.

    Parameters
    ----------
    architecture : str
        ``"sm_90"`` and the like.
    listener : callable
        Receives the progress of compilation, if anything has to be compiled.

    Raises
    ------
    ProgramError
        If a function of the program cannot be compiled for a GPU.
    DeviceError
        If the compilers do not know the architecture.
    """
    key = cubin_key(bound, architecture)
    code = cache.load(key)
    if not code:
        with compiling("compiling for the GPU", 1, listener):
            code = link(bound, architecture, "cubin")
        cache.store(key, code)
    return code


def is_compiled(bound: BoundProgram, architecture: str) -> bool:
    """Whether the cache on disk has the machine code of all kernels for `bound`."""
    return cache.has(cubin_key(bound, architecture))


def cubin_key(bound: BoundProgram, architecture: str) -> str:
    """The key of the machine code in the cache."""
    return key_of(bound.key, architecture, environment())


key_of = remember(partial(fingerprint, "cubin"))  # plans ask for the same keys


def link(bound: BoundProgram, architecture: str, output: str) -> bytes:
    """The linked kernels as ``"cubin"``, or as ``"ptx"`` for people and tests to read."""
    try:
        from cuda.core import Linker, LinkerOptions, ObjectCode
    except ImportError as error:
        raise ProgramError(f"cuda-core cannot be imported ({error}); pip install 'garaph_py[gpu]'") from None
    interface = Interface(bound)
    try:
        codes = [compile_kernels(header(bound, interface), architecture)]
        with lock:
            codes += [compile_function(bound, item, architecture) for item in interface.wrappers]
        parts = [ObjectCode.from_ltoir(code) for code in codes]
        options = LinkerOptions(arch=architecture, link_time_optimization=True, ptx=output == "ptx")
        return bytes(Linker(*parts, options=options).link(output).code)
    except ProgramError:
        raise
    except Exception as error:  # NVRTC and nvJitLink raise many kinds of errors
        problem = " ".join(str(error).replace("\0", "").split()) or type(error).__name__
        raise DeviceError(
            f"no code can be made for {architecture} ({problem[:200]}); update the compilers with pip "
            "install -U 'garaph_py[gpu]', or use device='cpu' (--device cpu)"
        ) from None


@remember
def sources() -> dict[str, str]:
    """The text of every file in ``kernels/``, by name."""
    return {path.name: path.read_text() for path in sorted(folder().glob("*.cu*"))}


@remember
def environment() -> str:
    """A fingerprint of all that a cubin depends on besides its program: kernels, generators, versions of compilers."""
    package = Path(__file__).parents[2]
    modules = {str(path): path.read_bytes() for name in GENERATING for path in sorted((package / name).glob("*.py"))}
    return fingerprint(cache.versions_of(PACKAGES), list(modules.values()), list(sources().items()))


def compile_kernels(generated: str, architecture: str) -> bytes:
    """The kernels with the generated header, as LTO-IR.

    NVRTC looks up every ``#include`` by name among the texts that this function passes to it, not on disk.
    """
    from cuda.bindings import nvrtc

    def checked(result: Any, log: bool = False) -> Any:
        code, *values = result
        if code != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            message = nvrtc.nvrtcGetErrorString(code)[1].decode()
            raise RuntimeError(f"{message}: {compile_log()}" if log else message)
        return values[0] if values else None

    def compile_log() -> str:
        log = b" " * checked(nvrtc.nvrtcGetProgramLogSize(program))
        checked(nvrtc.nvrtcGetProgramLog(program, log))
        return str(log.decode(errors="replace"))

    texts = {**sources(), NAME: generated}
    names, bodies = [[item.encode() for item in items] for items in (texts.keys(), texts.values())]
    program = checked(nvrtc.nvrtcCreateProgram(texts[MAIN].encode(), MAIN.encode(), len(texts), bodies, names))
    try:
        options = [f"-arch={architecture}".encode(), b"-rdc=true", b"-dlto", b"-std=c++17"]
        checked(nvrtc.nvrtcCompileProgram(program, len(options), options), log=True)
        code = b" " * checked(nvrtc.nvrtcGetLTOIRSize(program))
        checked(nvrtc.nvrtcGetLTOIR(program, code))
        return bytes(code)
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def compile_function(bound: BoundProgram, wrapper: Wrapper, architecture: str) -> bytes:
    """A wrapper and the functions it calls, as LTO-IR."""
    from numba import cuda, from_dtype
    from numba import types as nb
    from numba.cuda import dispatcher
    from numba.cuda.extending import intrinsic

    from ...native.lowering import load_u32

    teach()
    capability = (int(architecture[3:-1]), int(architecture[-1]))
    arguments = [from_dtype(dtype) for dtype in wrapper.arguments]
    if isinstance(wrapper.returns, list):
        arguments += [nb.CPointer(from_dtype(dtype)) for dtype in wrapper.returns]
        result = nb.void
    else:
        result = from_dtype(wrapper.returns)
    device_function = cuda.jit(device=True, forceinline=True)
    memo: dict[Any, Any] = {u32_at: intrinsic(load_u32)}
    asks_device = dispatcher.get_current_device
    # numba-cuda asks this machine's GPU for its architecture, but the machine may have no GPU.
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
    except Exception as error:  # numba-cuda raises many kinds of errors for code that it does not support
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
    """The folder of the CUDA sources: the package ``garaph_py.kernels``, or ``kernels/`` in a plain checkout.

    Raises
    ------
    GaraphError
        If neither exists.
    """
    spec = importlib.util.find_spec("garaph_py.kernels")
    if spec is not None and spec.origin is not None:
        return Path(spec.origin).parent
    checkout = Path(__file__).parents[3] / "kernels"
    if (checkout / "__init__.py").is_file():
        return checkout
    raise GaraphError(f"the CUDA sources are missing: no garaph_py.kernels and no {checkout}; reinstall garaph_py")
