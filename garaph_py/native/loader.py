"""Loads object code into this process, with llvmlite."""

from __future__ import annotations

import itertools
import threading
from functools import cache
from typing import Any

import numpy as np

from ..errors import ProgramError
from ..system.memory import on_own_pages

LIBM = "libm.so.6"
"""The one library that compiled code may call, besides the clock and the semaphores of the C library."""
ENTRY = "kernel"
"""Name of the entry point in object code."""
LINKING_BYTES = 1 << 25
"""Bytes of addresses that must be free before code is linked, because LLVM ends the process if it gets no memory. With
so many, it did not under any of the limits that `scripts/attacks/memory.py` tried."""
_names = itertools.count()
_loaded: list[Any] = []  # LLVM frees a library's code together with the library, so all are kept
_lock = threading.Lock()


@cache
def linker() -> Any:
    """LLVM's linker for code in memory, JITLink.

    JITLink maps all sections of an object next to each other. LLVM's other linker, MCJIT, maps each section into any
    gap, and aborts the process if two are more than 2 GiB apart. That happens when a GPU's driver has reserved address
    space.
    """
    import llvmlite.binding as llvm

    try:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
    except RuntimeError:  # recent llvmlite initializes itself and says so
        pass
    llvm.load_library_permanently(LIBM)
    machine = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(jit=True)
    return llvm.create_lljit_compiler(machine, use_jit_link=True)


def load_object(code: bytes) -> int:
    """Link object code into this process, and return the address of its entry point.

    Raises
    ------
    ProgramError
        If the code calls a function that this process does not have.
    MemoryError
        If there is too little memory for linking it.
    """
    import llvmlite.binding as llvm

    with _lock:
        on_own_pages(LINKING_BYTES, np.dtype(np.uint8))  # fails if there is no room, and is freed at once
        builder = llvm.JITLibraryBuilder().add_object_img(code).add_current_process().export_symbol(ENTRY)
        try:
            library = builder.link(linker(), f"object {next(_names)}")
        except RuntimeError as error:
            problem = f"compiled code cannot be linked ({error}); simplify the program, or report this"
            raise ProgramError(problem) from None
        _loaded.append(library)
    return int(library[ENTRY])
