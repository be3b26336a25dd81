"""The cache of object code on disk. Entries are written atomically and have a checksum; damaged ones are ignored."""

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
"""The first bytes of an entry, which name the format and its version."""


def folder() -> Path:
    """The directory of the cache: ``$GARAPH_CACHE_DIR``, or else a folder in the user's cache directory."""
    return Path(os.environ.get("GARAPH_CACHE_DIR") or platformdirs.user_cache_dir("garaph_py"))


def versions_of(packages: Iterable[str]) -> list[str]:
    """The names and versions of those `packages` that are installed."""
    found = []
    for package in packages:
        with contextlib.suppress(PackageNotFoundError):
            found.append(f"{package} {version(package)}")
    return found


@cache
def environment() -> str:
    """A hash of all that machine code depends on besides the function: the versions of its compilers, and the CPU."""
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
    """The object code stored under `key`; None if there is none, or it is damaged."""
    try:
        data = (folder() / f"{key}.o").read_bytes()
    except OSError:
        return None
    head, checksum, code = data[: len(MAGIC)], data[len(MAGIC) : len(MAGIC) + 16], data[len(MAGIC) + 16 :]
    return code if head == MAGIC and checksum == xxhash.xxh3_128_digest(key.encode() + code) else None


def store(key: str, code: bytes) -> None:
    """Store `code` under `key`. If the cache cannot be written, nothing happens: the next process compiles again."""
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
