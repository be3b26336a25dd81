"""Reads a file that may be hostile, and says what came of it and how much memory that took."""

from __future__ import annotations

import contextlib
import json
import resource
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np
import typer

import garaph_py as gp
from attacks import packed_blocks
from attacks.samples import BLOCK, CHECKPOINT, CHECKPOINT_ARRAYS, DIRECTORY, MANIFEST, REQUEST, SPEC
from garaph_py.checkpoint.files import Files
from garaph_py.checkpoint.store import Store
from garaph_py.cli.commands import app
from garaph_py.cli.request import Request
from garaph_py.codec.blocks import UndecodableError
from garaph_py.errors import FormatError, GaraphError
from garaph_py.experiment import spec
from garaph_py.graph import Graph
from garaph_py.io.formats import streams
from garaph_py.storage import directory as store
from garaph_py.storage import manifest

MIB = 1 << 20
ALLOWANCE = 64 * MIB
"""Memory in bytes that a reader may take beside twice the arrays (of the graph or, without one, of the file)."""
ADDRESSES = 2 << 30
"""Bytes that a worker may map beyond what it starts with."""
READ, REFUSED, BAD = "read", "refused", "bad"
"""What may come of a file."""
COMMAND = typer.main.get_command(app).commands["run"]  # type: ignore[attr-defined]
KNOWN = {option.name: option for option in COMMAND.params}
"""The options of ``garaph run``, by name."""


def attempt(path: Path, target: str) -> tuple[str, str, int]:
    """`READ`, `REFUSED` by a typed error that names the file, or `BAD`; a note; the bytes it may take memory for."""
    declared = sum(file.stat().st_size for file in ([path] if path.is_file() else path.rglob("*")))
    try:
        return READ, "", max(declared, READERS.get(target, read_graph)(path, target))
    except FormatError as error:
        if error.path.startswith(str(path.parent)):
            return REFUSED, str(error), declared
        return BAD, f"does not name the file: {error}", declared
    except GaraphError as error:
        return REFUSED if str(path) in str(error) else BAD, f"names no file: {error}", declared
    except (UndecodableError, InvalidRequest) as error:
        return REFUSED, str(error), declared
    except (Exception, Warning):
        return BAD, traceback.format_exc(), declared


class InvalidRequest(Exception):
    """What `Request.parse` says of a record, or ``garaph run`` of its options."""


def read_graph(path: Path, target: str) -> int:
    graph = gp.read(path, format=target, threads=1)
    check(graph)
    return graph.nbytes


def read_directory(path: Path, target: str) -> int:
    size = 0
    for encoding in ("packed", "raw"):
        graph = gp.open(path, threads=1, encoding=encoding)
        check(graph)
        size += graph.nbytes
    for problem in store.verify(path, threads=1):
        raise problem  # in what is not read where edges are in memory
    return size


def read_block(path: Path, target: str) -> int:
    if problem := packed_blocks.attempt(path):
        raise UndecodableError(problem)
    return 0


def read_manifest(path: Path, target: str) -> int:
    manifest.parse(path.read_bytes(), path)
    return 0


def read_checkpoint(path: Path, target: str) -> int:
    store = Store(path, Files())
    try:
        header = store.newest()
        assert header is not None, "no checkpoint"
        store.load({name: np.empty_like(array) for name, array in CHECKPOINT_ARRAYS.items()})
    finally:
        store.close()
    if header.request is not None:
        parse_request(header.request)
    return 0


def read_request(path: Path, target: str) -> int:
    try:
        record = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise InvalidRequest(str(error)) from None
    if not isinstance(record, dict):
        raise InvalidRequest("no object")
    parse_request(record)
    return 0


def parse_request(record: dict[str, Any]) -> None:
    """What ``garaph resume`` does with a record, as far as the run itself."""
    try:
        request = Request.parse(record, KNOWN)
        request.outputs()
        COMMAND.make_context("run", [*request.arguments(KNOWN), "--", request.program, request.graph])
    except (ValueError, typer_errors()) as error:
        raise InvalidRequest(str(error)) from None


def typer_errors() -> type[Exception]:
    """The class of what a command says to a wrong option."""
    return next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")


def read_spec(path: Path, target: str) -> int:
    spec.read(path)
    return 0


READERS: dict[str, Callable[[Path, str], int]] = {
    DIRECTORY: read_directory,
    BLOCK: read_block,
    MANIFEST: read_manifest,
    CHECKPOINT: read_checkpoint,
    REQUEST: read_request,
    SPEC: read_spec,
}
"""What reads a target, and returns the bytes of the arrays that it made; `read_graph` reads the others."""


def check(graph: Graph) -> None:
    """What every program takes on trust."""
    for edges in (graph._arrays.in_edges, graph._arrays.out_edges):
        assert edges.offsets[0] == 0, "offsets do not start with 0"
        assert edges.offsets[-1] == len(edges.neighbours) == graph.m, "offsets do not end with the number of edges"
        assert (np.diff(edges.offsets) >= 0).all(), "offsets fall"
        assert not graph.m or int(edges.neighbours.max()) < graph.n, "a neighbour is out of range"
        assert edges.values is None or len(edges.values) == graph.m, "not a value for each edge"
    assert len(graph.ids) == graph.n, "not an id for each vertex"


class Inline:
    """A pool without threads, so that small files are not read at the pace at which threads wake up."""

    def __init__(self, *_: object, **__: object) -> None: ...

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(function(*arguments))
        except Exception as error:
            future.set_exception(error)
        return future

    def shutdown(self, **_: object) -> None: ...


@contextlib.contextmanager
def without_threads() -> Iterator[None]:
    real = streams.ThreadPoolExecutor
    streams.ThreadPoolExecutor = Inline  # type: ignore[assignment,misc]
    try:
        yield
    finally:
        streams.ThreadPoolExecutor = real  # type: ignore[misc]


# Memory


def peak_memory() -> int:
    """Bytes of the highest resident set since the last `reset_peak`."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) << 10
    raise OSError("no VmHWM in /proc/self/status")


def reset_peak() -> int:
    Path("/proc/self/clear_refs").write_text("5")
    return peak_memory()


def limit_addresses() -> None:
    """Have whatever maps far more than this process has now fail."""
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + ADDRESSES, mapped + ADDRESSES))


def times_allowed(before: int, declared: int) -> float:
    """The memory taken since `reset_peak` returned `before`, divided by what is allowed."""
    return (peak_memory() - before) / (2 * declared + ALLOWANCE)
