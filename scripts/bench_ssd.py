"""How fast are runs whose edges stay on disk, and how much do they read? Prints Markdown tables.

    python scripts/bench_ssd.py GRAPH [GRAPH ...] [--memory 256MiB] [--budgets 1/2 1/4 1/8] [--device gpu]
        [--gpu-memory 4GiB] [--lists]

A GRAPH is a directory that ``garaph import`` or ``garaph generate`` made.

The first table compares two ways to read all edges: as a run reads them, but without processing them; and with ``dd``,
which reads the same files without the page cache. They are measured in turns.

The second table has five synchronous iterations of PageRank, and of ConnectedComponents if the graph is undirected. A
run has a process of its own, and the figures are medians of the iterations after the first. The memory for a run is
given by ``--memory``, or by ``--budgets``: a budget is what the vertices take plus this share of the edges' bytes.
"over needed" is what was read, divided by the bytes of the edges that do not stay in memory. "LRU" is what would be
read if the pages used last stayed in memory instead. "peak over" is the peak of memory above what the process had
before, divided by the budget.

With ``--lists`` there is one other table: what it costs to read the edge lists of some vertices. These are random
vertices (`any`), or the ends of random edges (`ends`), like the frontier of a BFS. Its cells are milliseconds (in
brackets, of the CPU) and megabytes, the smallest of the repeats. The lists are read in four ways: by whole blocks; by
sectors, without the gaps between lists; as runs read them, including gaps that take less time than another read; and
all pages.
"""

from __future__ import annotations

import argparse
import json
import logging
import statistics
import subprocess
import sys
import time
from collections import OrderedDict
from contextlib import closing
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import garaph_py as gp
from garaph_py.pages.disk_layout import lay_out
from garaph_py.pages.disk_source import DiskPageSource
from garaph_py.pages.layout import Page
from garaph_py.pages.memory import arrays_on_disk
from garaph_py.pages.provider import SourceFactory
from garaph_py.storage.directory import info, read_graph
from garaph_py.storage.fit import AUTO
from garaph_py.storage.sectors import SECTOR, access_bytes
from garaph_py.system.machine import read_ratio
from garaph_py.system.sizes import parse_bytes, show_bytes

ITERATIONS = 5
BLOCK = 4 << 20
LIST_PAGE_EDGES = 1 << 21
"""Edges of a page from which lists are read; none stays in memory."""


def programs(graph: gp.Graph) -> dict[str, gp.VertexProgram]:
    found: dict[str, gp.VertexProgram] = {"PageRank": gp.apps.PageRank(dtype=np.float32, stop="never", weighted=False)}
    return found if graph.directed else found | {"ConnectedComponents": gp.apps.ConnectedComponents()}


def fixed_bytes(path: str) -> int:
    """About the bytes that a run needs besides edges.

    They are for offsets, ids, two 4-byte values for each vertex, sets of vertices, and pages that are being read.
    """
    manifest = info(path)
    kept = sum(array.raw_bytes for name, array in manifest.arrays.items() if name not in edge_arrays(path))
    return kept + 9 * manifest.vertices + (80 << 20)


def edge_arrays(path: str) -> list[str]:
    return [name for name in ("in_sources", "in_values", "out_targets", "out_values") if name in info(path).arrays]


def opened(path: str, memory: int) -> gp.Graph:
    """The graph with its edges in memory, if they fit without being packed, or else on disk."""
    if 1.05 * sum(array.stored_bytes for array in info(path).arrays.values()) <= memory:
        return gp.open(path, memory=memory)
    return read_graph(path, AUTO, memory, None, gp.events.ignore, on_disk=True)


def status(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(field)).split()[1]) << 10


def files_of(path: str) -> list[Path]:
    manifest = info(path)
    return [Path(path) / disk / manifest.arrays["in_sources"].data for disk in manifest.disks]


def dd(path: str) -> float:
    """Seconds in which ``dd`` reads the files of all sources."""
    began = time.perf_counter()
    readers = [
        subprocess.Popen(["dd", f"if={file}", "of=/dev/null", f"bs={BLOCK}", "iflag=direct"], stderr=subprocess.DEVNULL)
        for file in files_of(path)
    ]
    if any(reader.wait() for reader in readers):
        raise SystemExit(f"{path}: dd cannot read it past the page cache")
    return time.perf_counter() - began


def source_of(edges: Any, room: int, sources: SourceFactory, page_edges: int | None = None) -> DiskPageSource:
    """A source of `edges`, which stay on disk, with `room` bytes of memory for pages."""
    arrays = arrays_on_disk(edges)
    layout = lay_out(arrays, edges.offsets, room, page_edges)
    return DiskPageSource(arrays, int(edges.offsets[-1]), layout, sources.disks)


def scan(path: str, room: int) -> float:
    """Seconds in which a run reads all edges, if it does nothing with them."""
    graph = read_graph(path, AUTO, fixed_bytes(path) + room, None, gp.events.ignore, on_disk=True)
    with SourceFactory(graph, False) as sources, closing(source_of(graph._arrays.in_edges, room, sources)) as source:
        began = time.perf_counter()
        source.prefetch(source.pages)
        for page in source.pages:
            source.edges(page)
            source.release(page)
        return time.perf_counter() - began


def reading(paths: list[str], repeats: int) -> None:
    print("| graph | GB | as a run reads, s | GB/s | dd, s | GB/s | of dd |\n|---|---|---|---|---|---|---|")
    for path in paths:
        size = info(path).arrays["in_sources"].stored_bytes / 1e9
        room = min(64 << 20, int(size * 2e8))
        pairs = [(scan(path, room), dd(path)) for _ in range(repeats + 1)][1:]
        ours, theirs = (statistics.median(column) for column in zip(*pairs, strict=True))
        cells = f"{size:.2f} | {ours:.3f} | {size / ours:.2f} | {theirs:.3f} | {size / theirs:.2f}"
        print(f"| {Path(path).name} | {cells} | {theirs / ours:.2f} |", flush=True)


def lists(path: str, repeats: int) -> None:
    graph = read_graph(path, AUTO, fixed_bytes(path) + (64 << 20), None, gp.events.ignore, on_disk=True)
    out, rng = graph._arrays.out_edges, np.random.default_rng(1)
    offsets, array = out.offsets, out.arrays(False)[0]
    files = [[file] for file in files_of(path)]
    k = read_ratio(files, 1.0) or 1.0
    print(f"\n{Path(path).name}, k = {k:.1f} now, {out.k:.1f} at the import\n")
    print("| vertices | of all | f | blocks | sectors | runs | all |\n|---|---|---|---|---|---|---|")
    with SourceFactory(graph, False) as sources, closing(source_of(out, 64 << 20, sources, LIST_PAGE_EDGES)) as source:
        source.stays = [False] * len(source.pages)
        array.keep_parts(True)
        rule, adjoining = (int(nbytes * graph.m / array.stored_bytes) for nbytes in (access_bytes(k), 2 * SECTOR))

        def wanted(vertices: Any, step: int, page: Page) -> Any:
            low, high = np.searchsorted(vertices, (page.first_vertex, page.last_vertex))
            mine = vertices[low:high]
            rounded = np.stack((offsets[mine] // step * step, -(-offsets[mine + 1] // step) * step), 1)
            rounded = rounded.clip(page.first_edge, page.last_edge)
            rounded[1:, 0] = np.maximum(rounded[1:, 0], np.maximum.accumulate(rounded[:, 1])[:-1])
            return rounded

        def measure(vertices: Any, step: int, access: int) -> tuple[float, float, float]:
            source._access = access
            chosen = None if vertices is None else partial(wanted, vertices, step)
            pages = [page for page in source.pages if chosen is None or len(chosen(page))]
            before, cpu, began = source.bytes_read, time.process_time(), time.perf_counter()
            source.prefetch(pages, chosen)
            for page in pages:
                source.edges(page)
                source.release(page)
            taken = time.perf_counter() - began, time.process_time() - cpu
            return taken[0] * 1e3, taken[1] * 1e3, (source.bytes_read - before) / 1e6

        measure(None, 1, 1)
        for kind in ("any", "ends"):
            for share in (1e-6, 1e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 1e-1):
                count, rows, f = max(int(graph.n * share), 1), list[list[tuple[float, float, float]]](), 0.0
                for _ in range(repeats):
                    if kind == "any":
                        vertices = np.sort(rng.choice(np.flatnonzero(np.diff(offsets)), count, replace=False))
                    else:
                        vertices = np.unique(np.searchsorted(offsets, rng.integers(graph.m, size=count), "right") - 1)
                    f += float((offsets[vertices + 1] - offsets[vertices]).sum()) / graph.m / repeats
                    blocks = measure(vertices, array.block_elements, 1)
                    sectors = measure(vertices, 1, adjoining) if share < 1e-2 else (0.0, 0.0, 0.0)
                    rows.append([blocks, sectors, measure(vertices, 1, rule), measure(None, 1, 1)])
                best = [[min(column) for column in zip(*way, strict=True)] for way in zip(*rows, strict=True)]
                cells = " | ".join(f"{wall:.1f} ({cpu:.0f}), {read:.1f}" if wall else "" for wall, cpu, read in best)
                print(f"| {kind} | {share:g} | {f:.1e} | {cells} |", flush=True)


def one(path: str, called: str, memory: int, device: str, gpu_memory: str | None) -> dict[str, Any]:
    """One run, in a process of its own; a run on a tiny graph compiles the kernels first."""
    logging.disable(logging.WARNING)
    tiny = gp.rmat(8, 8, directed=False)
    tiny = tiny.packed() if info(path).arrays["in_sources"].encoding[0] == "packed" else tiny
    gp.run(programs(tiny)[called], tiny, device=device, iterations=1, options=gp.Options(sync=True, mode="pull"))
    before, made = status("VmRSS"), list[Any]()

    class Seen(SourceFactory):
        def into(self, *given: Any, **named: Any) -> Any:
            made.append(super().into(*given, **named))  # type: ignore[arg-type]
            return made[-1]

    from garaph_py.runtime import carry_out as runtime

    runtime.SourceFactory = Seen  # type: ignore[misc]
    graph = opened(path, memory)
    how = gp.Options(gpu_memory=gpu_memory, sync=True, mode="pull")
    result = gp.run(programs(graph)[called], graph, device=device, iterations=ITERATIONS, options=how)
    source, steps = made[-1], result.stats.iterations
    width = info(path).arrays["in_sources"].stored_bytes / graph.m
    stays = source.stays if graph.on_disk else [True] * len(source.pages)
    streamed = sum(page.edges for page, kept in zip(source.pages, stays, strict=True) if not kept)
    later = steps[1:] or steps
    return {
        "edges": graph.m,
        "all": sum(step.seconds for step in steps),
        "seconds": statistics.median(step.seconds for step in later),
        "read": statistics.median(step.from_disk for step in later),
        "needed": streamed * width,
        "lru": lru([page.edges * width for page in source.pages], graph.m * width - streamed * width),
        "peak": status("VmHWM") - before,
    }


def lru(sizes: list[float], room: float) -> float:
    """Bytes read in an iteration after the first if the pages used last stay in memory."""
    kept, used, read = OrderedDict[int, float](), 0.0, 0.0
    for turn in range(2):
        read = 0.0
        for number, size in enumerate(sizes):
            if number in kept:
                kept.move_to_end(number)
                continue
            read += size
            kept[number], used = size, used + size
            while used > room:
                used -= kept.popitem(last=False)[1]
        del turn
    return read


def runs(paths: list[str], memory: str | None, budgets: list[str], on: list[str]) -> None:
    columns = ("graph", "program", "memory", "5 iterations, s", "s an iteration", "GE/s", "GB read", "over needed",
               "GB/s", "LRU, GB", "peak over")  # fmt: skip
    print(f"\n| {' | '.join(columns)} |\n{'|---' * len(columns)}|", flush=True)
    for path in paths:
        edges = sum(info(path).arrays[name].stored_bytes for name in edge_arrays(path))
        given = [parse_bytes(memory, "memory")] if memory else []
        given += [int(fixed_bytes(path) + Fraction(share) * edges) for share in budgets]
        for called in ("PageRank",) if info(path).directed else ("PageRank", "ConnectedComponents"):
            for budget in given:
                told = [sys.executable, __file__, path, "--one", called, "--memory", str(budget), *on]
                done = json.loads(subprocess.run(told, check=True, stdout=subprocess.PIPE, text=True).stdout)
                cells = [
                    Path(path).name, called, show_bytes(budget), f"{done['all']:.2f}", f"{done['seconds']:.3f}",
                    f"{done['edges'] / done['seconds'] / 1e9:.2f}", f"{done['read'] / 1e9:.2f}",
                    f"{done['read'] / max(done['needed'], 1):.3f}", f"{done['read'] / done['seconds'] / 1e9:.2f}",
                    f"{done['lru'] / 1e9:.2f}", f"{done['peak'] / budget:.2f}",
                ]  # fmt: skip
                print(f"| {' | '.join(cells)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graphs", nargs="+")
    parser.add_argument("--memory")
    parser.add_argument("--budgets", nargs="*", default=[])
    parser.add_argument("--device", default="cpu", choices=("cpu", "gpu", "hybrid"))
    parser.add_argument("--gpu-memory")
    parser.add_argument("--repeats", type=int, default=5, help="of the first table; 0 leaves it out")
    parser.add_argument("--lists", action="store_true", help="the table of some vertices' lists, and no other")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        done = one(options.graphs[0], options.one, int(options.memory), options.device, options.gpu_memory)
        print(json.dumps(done))
        return
    logging.disable(logging.WARNING)
    if options.lists:
        for path in options.graphs:
            lists(path, options.repeats)
        return
    if options.repeats:
        reading(options.graphs, options.repeats)
    if options.memory or options.budgets:
        on = ["--device", options.device] + ["--gpu-memory", options.gpu_memory] * bool(options.gpu_memory)
        runs(options.graphs, options.memory, options.budgets, on)


if __name__ == "__main__":
    main()
