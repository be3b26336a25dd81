"""The cache of object code on disk. Entries are written atomically and have a checksum; damaged ones are ignored.

Cached code is run, so it is used only if no other user can have written it. The directory and each entry are checked
through the handle that is then used, so it does not matter who can rename the directories above.
"""

from __future__ import annotations

import contextlib
import logging
import os
import platform
import secrets
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import xxhash

from ..system.ownership import distrust
from .references import fingerprint

log = logging.getLogger("garaph_py.native")

MAGIC = b"garaph object 1\n"
"""The first bytes of an entry, which name the format and its version."""


def folder() -> Path | None:
    """The directory of the cache: ``$GARAPH_CACHE_DIR``, or else a folder in the user's cache directory.

    None if that is not an absolute path, as for a user who has no home directory.
    """
    if not (name := os.environ.get("GARAPH_CACHE_DIR")):
        name = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "garaph_py")
    path = path_of(name)
    if path.is_absolute():
        return path
    report(path, "this is not an absolute path")
    return None


path_of = cache(Path)  # runs ask for the folder several times


@cache
def report(path: Path, problem: str) -> None:
    """Log that a directory or an entry is not used; only once, for each."""
    advice = "remove it, or set GARAPH_CACHE_DIR to a directory that only you can write"
    log.warning("%s: compiled code cached here is not used, because %s; %s", path, problem, advice)


@contextlib.contextmanager
def opened(path: Path, directory: int | None = None) -> Iterator[int]:
    """In ``with``: a handle of the cache's directory at `path`, or of an entry in the open `directory`.

    Raises
    ------
    OSError
        If it cannot be opened, or another user may have written it.
    """
    kind, name = (os.O_DIRECTORY, path) if directory is None else (os.O_NOFOLLOW | os.O_NONBLOCK, path.name)
    handle = os.open(name, os.O_RDONLY | os.O_CLOEXEC | kind, dir_fd=directory)
    try:
        if (problem := distrust(os.fstat(handle))) is not None:
            report(path, problem)
            raise PermissionError(problem)
        yield handle
    finally:
        os.close(handle)


def make_private(path: Path) -> None:
    """Make the directory `path`, and those above it that do not exist, for this user alone."""
    if not path.is_dir():
        make_private(path.parent)
        with contextlib.suppress(FileExistsError):
            os.mkdir(path, 0o700)


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
    compiler = [Path(__file__).with_name(name).read_bytes() for name in ("compiler.py", "lowering.py", "modules.py")]
    return fingerprint(
        platform.python_version(), versions, llvm.get_process_triple(), llvm.get_host_cpu_name(), features, compiler
    )


def has(key: str) -> bool:
    """Whether there is an entry under `key`; `load` says whether it can be used."""
    path = folder()
    return path is not None and (path / f"{key}.o").is_file()


def load(key: str) -> bytes | None:
    """The object code stored under `key`; None if there is none, it is damaged, or another user may have written it."""
    path = folder()
    if path is None:
        return None
    try:
        with (
            opened(path) as directory,
            opened(path / f"{key}.o", directory) as entry,
            open(entry, "rb", closefd=False) as file,
        ):
            data = file.read()
    except OSError:
        return None
    head, checksum, code = data[: len(MAGIC)], data[len(MAGIC) : len(MAGIC) + 16], data[len(MAGIC) + 16 :]
    return code if head == MAGIC and checksum == xxhash.xxh3_128_digest(key.encode() + code) else None


def store(key: str, code: bytes) -> None:
    """Store `code` under `key`, and remove what processes that were killed have left of it.

    If the cache cannot be used, nothing happens: the next process compiles again.
    """
    path = folder()
    if path is None:
        return
    with contextlib.suppress(OSError), opened(path) as directory:
        for left in os.listdir(directory):  # by such a process, or by one that is about to store the same code
            if left.startswith(f"{key}.") and left.endswith(".tmp"):
                os.unlink(left, dir_fd=directory)
    overwrite(key, code)


def overwrite(key: str, code: bytes) -> None:
    """Store `code` under `key`. It does not list the directory, which takes milliseconds if the cache is large."""
    path, name = folder(), f"{key}.{secrets.token_hex(8)}.tmp"
    if path is None:
        return
    with contextlib.suppress(OSError):
        make_private(path)
        with opened(path) as directory:
            handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=directory)
            try:
                with open(handle, "wb") as file:
                    file.write(MAGIC + xxhash.xxh3_128_digest(key.encode() + code) + code)
                os.replace(name, f"{key}.o", src_dir_fd=directory, dst_dir_fd=directory)
            except OSError:
                os.unlink(name, dir_fd=directory)
