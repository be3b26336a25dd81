"""Does compiled code reach outside an array? Runs every kernel in guarded memory (`guards`) over senseless graphs.

Even rounds make graph directories that are legal in form: checksums are right, offsets and lists ascend, and vertices
are in range. The rest makes no sense: the out-edges are not the in-edges reversed, edges and ids repeat, all edges meet
at one vertex, values are NaN or the extremes of their type, and packed numbers are wider than they need be. Odd rounds
put any numbers into the blocks of such directories before these get their checksums: offsets fall or overflow, vertices
are out of range, records of packed blocks are wrong. Verifying, opening in each form, and runs in each mode must end
with an answer or with a typed error.
"""

from __future__ import annotations

import logging
import multiprocessing
import random
import shutil
import signal
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

import garaph_py as gp
from attacks import Outcome
from attacks.guards import NAME_BYTES, guarded
from garaph_py.codec.arrays import RAW
from garaph_py.codec.blocks import UNIT
from garaph_py.codec.format import GROUP, PADDING, Packed
from garaph_py.errors import GaraphError
from garaph_py.executor.cpu import runs
from garaph_py.graph.adjacency import Adjacency
from garaph_py.graph.arrays import GraphArrays
from garaph_py.graph.graph import Graph
from garaph_py.graph.ids import IntegerIds, StringIds, VertexIds
from garaph_py.native.threads import ThreadPool
from garaph_py.storage import directory as store
from garaph_py.storage import write
from garaph_py.storage.blocks import ArrayLayout
from garaph_py.storage.encode import arrays_of, blocks_of, ready
from garaph_py.storage.manifest import Manifest
from garaph_py.storage.progress import Progress

INPUTS = 8
"""Directories of a round: some seconds' worth, once the kernels are compiled."""
PATIENCE = 600.0
"""Seconds after which a directory hangs. One takes a second, or a minute if many kernels have to be compiled."""
MEMORY = 1 << 26
"""Bytes for a run over edges on disk, far more than it needs."""
THREADS = 3
"""Pieces of a page; a run with one thread does not merge the sums of pieces."""
ITERATIONS = 6
DTYPES = (None, *map(np.dtype, (np.int32, np.int64, np.float64)))
"""Types of edge values, or None for no values: both widths, both kinds."""
HUGE = (0, 1, 33, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**48, 2**62, 2**63 - 1, 2**63, 2**64 - 1)
"""Numbers that odd rounds put into blocks."""
MODES = ("pull", "notify-pull", "push", "pull-tiled", "components")
PROGRAMS: dict[bool, tuple[Callable[[Any], gp.VertexProgram], ...]] = {
    False: (
        lambda _: gp.apps.PageRank(),
        lambda _: gp.apps.DeltaPageRank(),
        lambda _: gp.apps.ConnectedComponents(),
        gp.apps.BFS,
    ),
    True: (gp.apps.SSSP, gp.apps.SSWP, lambda _: gp.apps.HeatSimulation()),
}
"""Programs that do not read edge values, and those that do; each gets a vertex."""
FORMS = ("raw", "packed", "disk")
"""How a graph is opened."""


def attack(seed: int, folder: Path) -> Outcome:
    return watch(partial(try_directories, seed, INPUTS, folder), INPUTS, folder)


def watch(work: Callable[[int, Connection, int], None], count: int, folder: Path) -> Outcome:
    """Do the inputs 0 to `count` - 1 in guarded processes; one that dies is replaced, and does the next input.

    Parameters
    ----------
    work : callable
        ``work(first, reports, notes)``, which can be pickled, does the inputs from `first` on in a new process. After
        each it sends what it counted, and the problem, or "".
    """
    outcome, following, notes = Outcome(), 0, folder / "notes"
    context = multiprocessing.get_context("spawn")
    while following < count:
        notes.write_bytes(b"no kernel".ljust(NAME_BYTES))
        reports, far_end = context.Pipe(duplex=False)
        worker = context.Process(target=begin, args=(work, following, far_end, notes), daemon=True)
        worker.start()
        far_end.close()
        try:
            while following < count:
                if not reports.poll(PATIENCE):
                    raise TimeoutError
                counts, problem = reports.recv()
                outcome.counts.update(counts)
                if problem:
                    outcome.problems.append(f"input {following}: {problem}")
                following += 1
        except (EOFError, TimeoutError) as ending:
            name = notes.read_bytes().strip().decode()
            what = f"nothing for {PATIENCE:g} s" if isinstance(ending, TimeoutError) else ended(worker)
            outcome.problems.append(f"input {following}: {what}; the last kernel was {name}")
            following += 1
        worker.kill()
        worker.join()
    return outcome


def ended(worker: Any) -> str:
    """How a process ended that should not have."""
    worker.join()
    status = worker.exitcode
    if status == -signal.SIGSEGV:
        return "an access outside an array (SIGSEGV)"
    return f"it died of {signal.Signals(-status).name}" if status < 0 else f"it exited with {status}"


def begin(work: Callable[[int, Connection, int], None], first: int, reports: Connection, notes: Path) -> None:
    """The process that may die."""
    warnings.simplefilter("ignore")  # NaN and overflow are what it is about
    logging.disable()
    runs.MIN_RUN_EDGES = 1  # cut even small pages into pieces
    with notes.open("r+b") as file:
        work(first, reports, file.fileno())


def try_directories(seed: int, count: int, folder: Path, first: int, reports: Connection, notes: int) -> None:
    """Make the directories `first` to `count` - 1, and use each with guards behind and before all arrays."""
    for number in range(first, count):
        rng, counts, problem = random.Random(f"{seed} {number}"), Counter({"directories": 1}), ""
        path = folder / f"g{number}"
        save_unchecked(senseless_graph(rng), path, rng, legal=seed % 2 == 0)
        try:
            for at_end in (True, False):
                with guarded(at_end, notes) as guards:
                    counts.update(use_directory(path, random.Random(f"{seed} {number}")))
                counts["guarded calls of kernels"] += guards.calls
        except Exception as error:
            frame = traceback.extract_tb(error.__traceback__)[-1]
            problem = f"{type(error).__name__}: {error} ({Path(frame.filename).name}, line {frame.lineno})"
        shutil.rmtree(path)
        reports.send((counts, problem))


# Senseless directories


def senseless_graph(rng: random.Random) -> Graph:
    """A graph whose out-edges are mostly not its in-edges, and whose ids may repeat."""
    n, m = rng.choice((1, 2, 63, 64, 65, 300, 4096, 4097, 9000)), rng.choice((0, 1, 31, 1024, 1025, 6000, 9000))
    dtype, directed, chosen = rng.choice(DTYPES), rng.random() < 0.7, numbers_of(rng)
    sources, targets = senseless_ends(n, m, rng), senseless_ends(n, m, rng)
    others = [sources, targets] if rng.random() < 0.4 else [senseless_ends(n, m, rng) for _ in range(2)]
    values = [None if dtype is None else senseless_values(m, dtype, chosen) for _ in range(2)]
    into, out = adjacency(n, targets, sources, values[0]), adjacency(n, *others, values[1])
    repeated = np.array(rng.choices((-(2**63), -1, 0, 7, 2**63 - 1), k=n), np.int64)
    names = StringIds(np.array([rng.choice(("", "é", "a" * 99)) + str(v or "") for v in range(n)]))
    ids = rng.choice((VertexIds(n), VertexIds(n), names, IntegerIds(repeated)))
    return Graph(GraphArrays(into, out if directed else into, ids))


def numbers_of(rng: random.Random) -> np.random.Generator:
    return np.random.default_rng(rng.getrandbits(64))


def senseless_ends(n: int, m: int, rng: random.Random) -> np.ndarray:
    """One end of `m` edges: any vertices, one for all, the first and the last, or those with small numbers."""
    chosen, hub = numbers_of(rng), rng.choice((0, n - 1, rng.randrange(n)))
    few = np.minimum(chosen.geometric(0.01, m), n) - 1
    return rng.choice((chosen.integers(0, n, m), np.full(m, hub), chosen.choice([0, n - 1], m), few))


def adjacency(n: int, owners: np.ndarray, neighbours: np.ndarray, values: np.ndarray | None) -> Adjacency:
    """The lists of the `owners`, ascending; the `values` stay as they are."""
    order = np.lexsort((neighbours, owners))
    offsets = np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=n))])
    return Adjacency(offsets.astype(np.int64), neighbours[order].astype(np.uint32), values)


def senseless_values(m: int, dtype: np.dtype[Any], chosen: np.random.Generator) -> np.ndarray:
    if dtype.kind == "f":
        least, most = np.finfo(dtype).min, np.finfo(dtype).max
        extremes = np.array([least, most, np.nan, np.inf, -np.inf, -0.0, np.finfo(dtype).smallest_subnormal], dtype)
    else:
        extremes = np.array([np.iinfo(dtype).min, np.iinfo(dtype).max, 0, 1], dtype)
    if chosen.random() < 0.7:  # many programs refuse others
        extremes = extremes[extremes >= 0]
    values = chosen.integers(0, 100, m).astype(dtype)
    strange = chosen.random(m) < chosen.choice([0, 0.01, 1])
    values[strange] = chosen.choice(extremes, int(strange.sum()))
    return values


def save_unchecked(graph: Graph, path: Path, rng: random.Random, legal: bool) -> None:
    """Write a graph directory, as `storage.save` does, but whatever the edges are; the manifest has no hashes of them.

    If it is not to be `legal`, some numbers in its blocks are replaced before their checksums are computed.
    """
    encoding = rng.choice(("raw", "packed"))
    block_bytes = rng.choice((512, 4096)) if encoding == RAW else UNIT * rng.choice((1, 2))
    progress = Progress("", 0, gp.events.ignore)
    with ThreadPool(1) as pool, write.creating(path) as place:
        manifest = Manifest(
            graph_id=place.graph_id, generation=0, vertices=graph.n, edges=graph.m, directed=graph.directed,
            ids=graph.ids.kind, disks=place.listed, arrays={},
        )  # fmt: skip
        offsets = {"in_sources": graph._arrays.in_edges.offsets, "out_targets": graph._arrays.out_edges.offsets}
        for name, array in arrays_of(graph, pool).items():
            array = ready(name, array, encoding, offsets.get(name), pool)
            if isinstance(array, Packed) and rng.random() < 0.5:
                array = widened(array, rng)
            stored_as, blocks = blocks_of(name, array, encoding, block_bytes, offsets.get(name), pool)
            layout = ArrayLayout(name, array.dtype, len(array), stored_as, block_bytes)
            damaged = blocks if legal else (with_other_numbers(block, rng) for block in blocks)
            write.write_blocks(place, manifest, layout, damaged, progress)
        write.write_manifest(place, manifest)


def with_other_numbers(block: np.ndarray, rng: random.Random) -> np.ndarray:
    """A block in which up to three numbers of any size are others."""
    block = block.copy()
    for _ in range(rng.choice((0, 0, 0, 0, 1, 3))):
        size = rng.choice((1, 4, 8))
        if size <= len(block):
            at = rng.randrange(len(block) // size) * size
            number = rng.choice(HUGE) % 256**size
            block[at : at + size] = np.frombuffer(number.to_bytes(size, "little"), np.uint8)
    return block


def widened(packed: Packed, rng: random.Random) -> Packed:
    """The same numbers, in groups of more bits than they need."""
    records, words = packed.records.copy(), bytearray()
    for record in records:
        at = int(record["first_word"])
        record["first_word"] = len(words) // 4
        for group, width in enumerate(map(int, record["widths"])):
            bits, wider = int.from_bytes(packed.words[at : at + width].tobytes(), "little"), rng.randint(width, 32)
            numbers = ((bits >> k * width & (1 << width) - 1) << k * wider for k in range(GROUP))
            words += sum(numbers).to_bytes(4 * wider, "little")
            record["widths"][group] = wider
            at += width
    padded = np.append(np.frombuffer(words, "<u4"), np.zeros(PADDING, np.uint32)).astype(np.uint32)
    return Packed(records, padded, packed.length, packed.dtype)


# Use


def use_directory(path: Path, rng: random.Random) -> Iterable[str]:
    """Verify the directory, open it in each form, and run programs over it; yield what came out."""
    yield "refused by verify" if store.verify(path, threads=THREADS) else "passed by verify"
    for form in FORMS:
        try:
            graph = opened(path, form)
        except GaraphError:
            yield "typed errors"
            continue
        yield f"graphs ({form})"
        program = rng.choice(PROGRAMS[graph.edge_dtype is not None and rng.random() < 0.7])
        for mode in MODES:
            try:
                run(program, graph, mode, rng)
                yield f"answers ({mode})"
            except GaraphError:
                yield "typed errors"


def opened(path: Path, form: str) -> Graph:
    if form != "disk":
        return gp.open(path, encoding=form, threads=THREADS)
    return store.read_graph(path, "auto", MEMORY, THREADS, gp.events.ignore, on_disk=True)._replace(memory=MEMORY)


def run(program: Callable[[Any], gp.VertexProgram], graph: Graph, mode: str, rng: random.Random) -> None:
    vertex = graph.ids.take(np.array([rng.randrange(graph.n)]))[0] if graph.n else 0
    sync, page_edges = rng.choice((None, True, False)), rng.choice((None, 700))
    how = {"device": "cpu", "iterations": ITERATIONS, "threads": THREADS}
    options = gp.Options(mode=mode, sync=sync, page_edges=page_edges)
    with gp.run(program(vertex), graph, options=options, **how) as result:
        _ = result.values
