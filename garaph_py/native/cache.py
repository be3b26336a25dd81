"""Object code on disk, by key. Entries are written atomically and carry a checksum; a bad one is compiled anew."""

from __future__ import annotations

import contextlib
import os
import platform
import tempfile
from collections.abc import Iterable
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import platformdirs
import xxhash

from .references import fingerprint

MAGIC = b"garaph object 1\n"


def folder() -> Path:
    """Where object code is kept: ``$GARAPH_CACHE_DIR``, else the user's cache directory."""
    return Path(os.environ.get("GARAPH_CACHE_DIR") or platformdirs.user_cache_dir("garaph_py"))


def versions_of(packages: Iterable[str]) -> list[str]:
    """Those of `packages` that are installed, with their versions."""
    found = []
    for package in packages:
        with contextlib.suppress(PackageNotFoundError):
            found.append(f"{package} {version(package)}")
    return found


@cache
def environment() -> str:
    """Everything outside a function's own text that its machine code depends on."""
    import llvmlite.binding as llvm

    try:
        features = llvm.get_host_cpu_features().flatten()
    except RuntimeError:
        features = ""
    versions = versions_of(("numba", "llvmlite", "numpy"))
    compiler = [Path(__file__).with_name(name).read_bytes() for name in ("compiler.py", "lowering.py")]
    return fingerprint(
        platform.python_version(), versions, llvm.get_process_triple(), llvm.get_host_cpu_name(), features, compiler
    )


def load(key: str) -> bytes | None:
    """The object code stored under `key`, or None when there is none that is whole."""
    try:
        data = (folder() / f"{key}.o").read_bytes()
    except OSError:
        return None
    head, checksum, code = data[: len(MAGIC)], data[len(MAGIC) : len(MAGIC) + 16], data[len(MAGIC) + 16 :]
    return code if head == MAGIC and checksum == xxhash.xxh3_128_digest(key.encode() + code) else None


def store(key: str, code: bytes) -> None:
    """Keep `code` under `key`. A cache that cannot be written only costs the next process its time."""
    target = folder()
    try:
        target.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=target, prefix=f"{key}.", suffix=".tmp")
    except OSError:
        return
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(MAGIC + xxhash.xxh3_128_digest(key.encode() + code) + code)
        os.replace(name, target / f"{key}.o")
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(name)
