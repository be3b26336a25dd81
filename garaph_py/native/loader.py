"""Object code into this process, through llvmlite."""

from __future__ import annotations

from typing import Any

LIBM = "libm.so.6"
"""The one library that compiled code may call."""
_engines: list[Any] = []  # LLVM execution engines own the code they loaded: they live as long as the process


def load_object(code: bytes) -> int:
    """Link object code into this process; the address of its entry point."""
    import llvmlite.binding as llvm

    try:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
    except RuntimeError:  # recent llvmlite initializes itself and says so
        pass
    llvm.load_library_permanently(LIBM)
    machine = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(jit=True)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
    engine.add_object_file(llvm.object_file.ObjectFileRef.from_data(code))
    engine.finalize_object()
    _engines.append(engine)
    return int(engine.get_function_address("kernel"))
