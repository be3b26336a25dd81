"""How fast are the GPU kernels? Compares them with the hardware's limit, and times iterations and whole runs.

    python scripts/bench_gpu.py gather rmat:22:16 rmat:24:16 rmat:25:32 [--order given degree]
    python scripts/bench_gpu.py packing rmat:24:16:symmetric
    python scripts/bench_gpu.py iteration rmat:24:16:symmetric
    python scripts/bench_gpu.py calls rmat:24:16:symmetric grid:1000
    python scripts/bench_gpu.py host rmat:24:16:symmetric
    python scripts/bench_gpu.py auto rmat:22:16:symmetric rmat:24:16:symmetric
    python scripts/bench_gpu.py whole GRAPH_DIRECTORY

A graph is ``rmat:SCALE:EDGE_FACTOR[:symmetric]``, ``grid:SIDE``, or a file or directory that `garaph_py` reads. The
tables are Markdown, and times are medians:

``gather``
    The kernels that gather raw and packed edges, beside a limit: a kernel that streams source ids and gathers a float32
    for each, but reduces nothing.
``packing``
    Packing edges on the GPU while they are copied to it, and on the CPU.
``iteration``
    An iteration of PageRank (float32) with all edges, no edges or half of the edges on the GPU, beside the bandwidth of
    pinned copies.
``calls``
    Whole calls of `garaph_py.run`, and their iterations alone: the first with nothing of the graph on the GPU, then
    warm ones. With order "hub", the GPU numbers the vertices anew in the first call. Beside them what others have
    reached with the same graph on the GPU (`RECORDED`).
``host``
    Warm calls with little of the GPU's memory (``--gpu-memory``): the edges that do not fit stay in host memory, or are
    copied in each iteration. Beside them what others have reached with all edges in host memory.
``auto``
    Whole calls with ``device="auto"``, in turns with the CPU and the GPU: first ones, with nothing of the graph on the
    GPU but all code compiled; warm ones, with the graph there; and ten calls that begin with nothing there, beside the
    better of ten on the CPU and ten on the GPU. "why" is what `auto` expected. Set GARAPH_CACHE_DIR to a new directory
    to begin with what `runtime/reckoning.py` assumes, and not with what earlier runs have learned.
``whole``
    The parts of a run, from a graph directory to the answer.

Replication factors and further programs are measured by scripts/experiments/figure9.toml and table2.toml.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from graphs import hub, load

import garaph_py as gp
from garaph_py.codec.arrays import PACKED
from garaph_py.executor.gpu import device as devices
from garaph_py.executor.gpu.edges import page_bytes
from garaph_py.executor.gpu.executor import GpuExecutor
from garaph_py.executor.gpu.gather import SEGMENTED
from garaph_py.executor.gpu.measure import host_to_device_bandwidth
from garaph_py.executor.gpu.packing import STAGING_BYTES, measured
from garaph_py.executor.gpu.pinned import Pinned
from garaph_py.executor.gpu.residency import VERTICES
from garaph_py.executor.gpu.settings import STREAMS, Settings
from garaph_py.executor.modes import PULL
from garaph_py.graph.build import rebuilt
from garaph_py.native.threads import ThreadPool
from garaph_py.pages.layout import layout
from garaph_py.program import VertexProgram, bind

LIMIT = r"""
extern "C" __global__ void limit(const uint4* sources, const float* values, float* out, long long quads) {
  float sum = 0;
  long long stride = gridDim.x * (long long)blockDim.x;
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < quads; i += 2 * stride) {
    uint4 a = __ldcs(sources + i), b = i + stride < quads ? __ldcs(sources + i + stride) : a;
    sum += values[a.x] + values[a.y] + values[a.z] + values[a.w];
    sum += values[b.x] + values[b.y] + values[b.z] + values[b.w];
  }
  if (sum == 12345.f) *out = sum;
}
"""
GRIDS = (8, 16, 64)
REPEATS = 9
RECORDED = "rmat:24:16:symmetric"
"""The graph over which others were measured, each once, on an H200 like this. SSSP has lengths from 1 to 64."""
TIGR = {"BFS": 12.1, "SSSP": 24.5, "ConnectedComponents": 23.3, "PageRank": 112}
"""Milliseconds of Tigr's kernels alone; ten iterations of PageRank."""
SPIKE = {"BFS": 0.82, "SSSP": 18.3, "ConnectedComponents": 1.65}
"""Milliseconds of kernels written for one algorithm each, whose supersteps all run in one launch."""
IN_HOST_MEMORY = {
    "BFS": (65, 95, "7.2 to 9.1"), "SSSP": (187, 224, ""), "ConnectedComponents": (90, 154, "10 to 13"),
    "PageRank": (250, 450, ""),
}  # fmt: skip
"""With the edges in host memory, milliseconds of HyTGraph, of EMOGI, and of kernels written for one algorithm each."""
FIRSTS, TEN = 3, 10
"""First calls whose median counts, and calls of the table ``auto`` that begin with nothing on the GPU."""
DEVICES = ("auto", "cpu", "gpu")
STREAMED = 1 << 24
"""Edges in a streamed page."""


class Timed:
    """A program's executor on the GPU, initialized; `seconds` times what is launched on its first stream."""

    def __init__(self, graph: gp.Graph, settings: Settings, program: VertexProgram | None = None) -> None:
        program = program or gp.apps.PageRank(dtype=np.float32, stop="never", weighted=False)
        self.device = devices.find()
        self.bound = bind(program, graph)
        self.kernel = GpuExecutor(self.bound, graph, self.device, settings)
        self.state = self.kernel.initialize(True)
        self.pages = self.kernel.residency.pages
        self.source = self.kernel.source

    def __enter__(self) -> Timed:
        self.iterate()
        return self

    def __exit__(self, *_: object) -> None:
        self.kernel.close()

    def iterate(self) -> float:
        """Run one iteration; return its seconds."""
        started = time.perf_counter()
        self.kernel.begin(self.state, PULL)
        results = self.kernel.process(self.pages, self.source, self.state, PULL)
        self.kernel.commit(self.state, PULL)
        self.copied = sum(result.to_device for result in results)
        return time.perf_counter() - started

    def seconds(self, launch: Callable[[Any], None], repeats: int = REPEATS) -> float:
        stream = self.kernel.streams.compute[0]
        with self.device:
            times = [devices.seconds(self.device.driver, stream, lambda: launch(stream)) for _ in range(repeats + 1)]
        return statistics.median(times[1:])

    def tasks(self) -> list[tuple[Any, Any]]:
        """The pages, and the arguments of their kernels."""
        staying = self.kernel.streams.buffers.staying
        return [(page, self.kernel.task_of(page, staying[page.number])) for page in self.pages]


def limit_seconds(timed: Timed) -> float:
    """Seconds in which the GPU can at best stream the ids of a page and gather their values: the best of `GRIDS`."""
    from cuda.core import Program, ProgramOptions

    code = Program(LIMIT, "c++", ProgramOptions(arch=timed.device.architecture)).compile("cubin").code
    kernel, page = timed.kernel, timed.pages[0]
    sources = kernel.streams.buffers.places(page, kernel.streams.buffers.staying[page.number])[0]
    values = kernel.address("values")
    with timed.device:
        function = timed.device.driver.module_from_buffer(bytes(code)).get_function("limit")

    def launch(stream: Any, blocks: int) -> None:
        out = np.uint64(kernel.address("heads"))
        function(
            np.uint64(sources), np.uint64(values), out, np.int64(page.edges // 4), block=(256, 1, 1),
            grid=(timed.device.multiprocessors * blocks, 1), stream=stream,
        )  # fmt: skip

    return min(timed.seconds(lambda stream, grid=grid: launch(stream, grid)) for grid in GRIDS)


def gather(options: argparse.Namespace) -> None:
    head = "graph | order | M edges | limit GE/s | segmented | of the limit | packed | of the limit | bytes an edge"
    print(f"| {head} | apply ms |\n{'|---' * 10}|")
    for name in options.graphs:
        given = load(name)
        for order in options.order:
            graph = rebuilt(given, order="degree") if order == "degree" else given
            with Timed(graph, Settings(gather=SEGMENTED, page_edges=graph.m)) as timed:
                ((page, task),), kind = timed.tasks(), timed.kernel.gather
                limit = limit_seconds(timed)
                took = timed.seconds(partial(kind.sum_segments, page, task))
                apply = timed.seconds(partial(kind.apply, page, task))
            with Timed(graph, Settings(gather=PACKED, page_edges=graph.m)) as timed:
                ((page, task),), kind = timed.tasks(), timed.kernel.gather
                packed = timed.seconds(partial(kind.sum_segments, page, task))
                width = timed.kernel.edges.arrays.width
            rates = [graph.m / seconds / 1e9 for seconds in (limit, took, packed)]
            cells = f"{rates[0]:.1f} | {rates[1]:.1f} | {rates[1] / rates[0]:.3f} | {rates[2]:.1f} | "
            cells += f"{rates[2] / rates[0]:.3f} | {width:.2f} | {apply * 1e3:.3f}"
            print(f"| {name} | {order} | {graph.m / 1e6:.0f} | {cells} |", flush=True)


def packing(options: argparse.Namespace) -> None:
    """Print how fast edges are packed on their way to the GPU, and on the CPU."""
    print("| graph | order | pass | s | GE/s | raw GB/s | of memcpy |\n|---|---|---|---|---|---|---|")
    bandwidth = host_to_device_bandwidth(devices.find())
    for name in options.graphs:
        given = load(name)
        for order in options.order:
            graph = rebuilt(given, order="degree") if order == "degree" else given
            with Timed(graph, Settings(gather=PACKED)) as timed, ThreadPool() as pool:
                for called, work in passes(timed, graph, pool):
                    seconds = statistics.median(wall(timed.device, work) for _ in range(5))
                    rate = 4 * graph.m / seconds
                    cells = f"{seconds:.4f} | {graph.m / seconds / 1e9:.1f} | {rate / 1e9:.1f} | {rate / bandwidth:.3f}"
                    print(f"| {name} | {order} | {called} | {cells} |", flush=True)


def passes(timed: Timed, graph: gp.Graph, pool: ThreadPool) -> list[tuple[str, Callable[[], Any]]]:
    """The passes over all edges that pack them."""
    kernel = timed.kernel
    budget = kernel.budget() // 2

    def measure() -> None:
        pinned = Pinned()
        measured(graph._arrays, kernel.launcher, timed.device, budget, pinned)
        pinned.close()

    def pack() -> None:
        kernel.edges.pack(kernel.streams, kernel.launcher, kernel._kept.memory, kernel.address("starts"))

    return [
        ("measure", measure),
        ("pack, pages stay", pack),
        (f"CPU, {pool.size} threads", lambda: graph._arrays.in_edges.encoded(PACKED, pool)),
    ]


def wall(device: devices.Device, work: Callable[[], Any]) -> float:
    started = time.perf_counter()
    with device:
        work()
        device.driver.Context.synchronize()
    return time.perf_counter() - started


def iteration(options: argparse.Namespace) -> None:
    head = "graph | order | edges | that stay | ms | GE/s | bytes an edge copied | of memcpy | lost by threads, ms"
    print(f"| {head} |\n{'|---' * 9}|")
    bandwidth = host_to_device_bandwidth(devices.find())
    for name in options.graphs:
        given = load(name)
        for order in options.order:
            graph = rebuilt(given, order="degree") if order == "degree" else given
            for kind, called in ((SEGMENTED, "raw"), (PACKED, "packed")):
                with Timed(graph, Settings(gather=kind)) as timed:
                    row(f"{name} | {order} | {called} | all", graph, timed, bandwidth)
                    memory, arrays = timed.kernel.residency.used, timed.kernel.edges.arrays
                    edges = sum(page_bytes(page, arrays) for page in timed.pages)
                    memory -= edges + STAGING_BYTES * timed.kernel.edges.packs
                pages = layout(graph._arrays.in_edges.offsets, STREAMED, VERTICES)
                memory += STREAMS * max(page_bytes(page, arrays) for page in pages)
                for share in (0, 0.5):
                    how = Settings(memory=int(memory + share * edges), page_edges=STREAMED, gather=kind)
                    with Timed(graph, how) as timed:
                        here = timed.kernel.residency.here
                        stays = f"{sum(page.edges for page in here) / graph.m:.0%}"
                        row(f"{name} | {order} | {called} | {stays}", graph, timed, bandwidth)


def row(head: str, graph: gp.Graph, timed: Timed, bandwidth: float) -> None:
    streams = timed.kernel.streams
    streams.thread.wall = streams.thread.waited = streams.thread.used = 0.0
    seconds, moved = [], 0
    for _ in range(REPEATS):
        seconds.append(timed.iterate())
        moved = timed.copied
    middle = statistics.median(seconds)
    lost = streams.thread.lost / REPEATS
    of = f"{moved / middle / bandwidth:.3f} of {bandwidth / 1e9:.1f} GB/s" if moved else ""
    cells = f"{middle * 1e3:.2f} | {graph.m / middle / 1e9:.1f} | {moved / graph.m:.2f} | {of} | {lost * 1e3:.2f}"
    print(f"| {head} | {cells} |", flush=True)


def calls(options: argparse.Namespace) -> None:
    heads = ["first call, ms", "warm call, ms", "its iterations, ms", "beyond them, ms", "Tigr, ms", "one launch, ms"]
    head = f"graph | program | device | order | {' | '.join(heads)}"
    print(f"| {head} |\n{'|---' * 10}|")
    for name in options.graphs:
        graph = load(name, weighted=True)
        for program, iterations in programs(graph):
            called = type(program).__name__
            peers = [table.get(called, "") if name == RECORDED else "" for table in (TIGR, SPIKE)]
            for device, order in (("gpu", "given"), ("gpu", "hub"), ("auto", "auto"), ("cpu", "auto")):
                if order == "hub" and not isinstance(program, gp.apps.PageRank):
                    continue
                graph.release()
                call = partial(timed_call, program, graph, iterations, device, gp.Options(gpu_order=order))
                times = np.array([call() for _ in range(1 + REPEATS)]) * 1e3
                first, (warm, alone) = times[0, 0], np.median(times[1:], axis=0)
                cells = f"{first:.1f} | {warm:.1f} | {alone:.2f} | {warm - alone:.1f} | {peers[0]} | {peers[1]}"
                print(f"| {name} | {called} | {device} | {order} | {cells} |", flush=True)


def host(options: argparse.Namespace) -> None:
    heads = ["GPU memory", "warm call, ms", "its iterations, ms", "HyTGraph", "EMOGI", "one launch, ms"]
    print(f"| graph | program | {' | '.join(heads)} |\n{'|---' * 8}|")
    for name in options.graphs:
        graph = load(name, weighted=True)
        for program, iterations in programs(graph):
            called = type(program).__name__
            peers = IN_HOST_MEMORY.get(called, ("", "", "")) if name == RECORDED else ("", "", "")
            for memory in options.gpu_memory:
                graph.release()
                how = gp.Options(gpu_memory=memory)
                call = partial(timed_call, program, graph, iterations, "gpu", how)
                warm, alone = np.median(np.array([call() for _ in range(1 + FIRSTS)])[1:], axis=0) * 1e3
                cells = f"{memory} | {warm:.1f} | {alone:.1f} | {' | '.join(map(str, peers))}"
                print(f"| {name} | {called} | {cells} |", flush=True)


def programs(graph: gp.Graph) -> list[tuple[VertexProgram, int | None]]:
    """The programs of the tables of calls that suit the graph, and their limits of iterations."""
    source = hub(graph)
    pagerank = gp.apps.PageRank(dtype=np.float32, dangling="drop", stop="never", weighted=False)
    components: list[tuple[VertexProgram, int | None]] = [(gp.apps.ConnectedComponents(), None)]
    return [
        (gp.apps.BFS(source), None), (gp.apps.SSSP(source), None), (gp.apps.SSWP(source), None),
        *([] if graph.directed else components), (pagerank, 10),
        (gp.apps.DeltaPageRank(weighted=False), None),
    ]  # fmt: skip


def auto(options: argparse.Namespace) -> None:
    heads = [f"{when} {what}" for when in ("first:", "warm:") for what in (*DEVICES, "over the better")]
    print(f"| graph | program | {' | '.join([*heads, 'ten calls', 'over the better', 'why'])} |\n{'|---' * 13}|")
    for name in options.graphs:
        graph = load(name, weighted=True)
        for program, iterations in programs(graph):
            call = partial(whole_call, program, graph, iterations)
            for device in (*DEVICES, "hybrid"):  # compiles
                call(device)
            first, why = in_turns(partial(first_call, graph, call), FIRSTS)
            graph.release()
            ten = sum(call("auto")[0] for _ in range(TEN))
            for device in ("cpu", "gpu"):
                call(device)
            warm, later = in_turns(call, REPEATS)
            better = min(TEN * warm["cpu"], first["gpu"] + (TEN - 1) * warm["gpu"])
            times = [f"{show(each)} | {each['auto'] / min(each['cpu'], each['gpu']):.2f}" for each in (first, warm)]
            cells = " | ".join([*times, f"{ten * 1e3:.1f}", f"{ten / better:.2f}", f"first: {why}. Warm: {later}"])
            print(f"| {name} | {type(program).__name__} | {cells} |", flush=True)


def first_call(graph: gp.Graph, call: Callable[[str], tuple[float, str]], device: str) -> tuple[float, str]:
    """A call that finds nothing of the graph on the GPU, and none of the arrays that runs derive from it."""
    graph.release()
    return call(device)


def in_turns(call: Callable[[str], tuple[float, str]], repeats: int) -> tuple[dict[str, float], str]:
    """The median seconds of a call on each of `DEVICES`, and what ``auto`` expected of its last one."""
    rounds = [{device: call(device) for device in DEVICES} for _ in range(repeats)]
    seconds = {device: statistics.median(each[device][0] for each in rounds) for device in DEVICES}
    return seconds, rounds[-1]["auto"][1]


def show(seconds: dict[str, float]) -> str:
    """The times of all devices, in milliseconds."""
    return " | ".join(f"{seconds[device] * 1e3:.1f}" for device in DEVICES)


def whole_call(program: VertexProgram, graph: gp.Graph, iterations: int | None, device: str) -> tuple[float, str]:
    """Seconds of a call, and the device that began it, with the reason if it was chosen."""
    started = time.perf_counter()
    stats = gp.run(program, graph, iterations=iterations, device=device).stats
    seconds = time.perf_counter() - started
    return seconds, f"{'cpu' if stats.device == 'cpu' else 'hybrid'}, {stats.why}"


def timed_call(
    program: VertexProgram, graph: gp.Graph, iterations: int | None, device: str, options: gp.Options
) -> tuple[float, float]:
    """Seconds of a call, until the answer is in Python, and of its iterations."""
    started = time.perf_counter()
    result = gp.run(program, graph, iterations=iterations, device=device, options=options)
    return time.perf_counter() - started, result.stats.seconds


def whole(options: argparse.Namespace) -> None:
    print("| graph | part | ms |\n|---|---|---|")
    for name in options.graphs:
        times = [("start", time.perf_counter())]

        def done(part: str, times: list[tuple[str, float]] = times) -> None:
            times.append((part, time.perf_counter()))

        found = devices.find()
        done("find the GPU, make its context")
        graph = load(name)
        done("read")
        bound = bind(gp.apps.PageRank(dtype=np.float32, stop="never", weighted=False), graph)
        kernel = GpuExecutor(bound, graph, found, Settings())
        done("compile, or load what was compiled")
        with kernel:
            state = kernel.initialize(True)
            done("lay out, pin, copy what is not edges, initialize")
            source = kernel.source
            for number in range(10):
                kernel.begin(state, PULL)
                kernel.process(source.pages, source, state, PULL)
                kernel.commit(state, PULL)
                if number == 0:
                    done("first iteration, which copies the edges")
            done("nine more iterations")
            kernel.report(state)
            done("report")
        done("give back")
        for (_, before), (part, after) in pairwise(times):
            print(f"| {name} | {part} | {(after - before) * 1e3:.1f} |")
        print(f"| {name} | all | {(times[-1][1] - times[0][1]) * 1e3:.1f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", choices=["gather", "packing", "iteration", "calls", "host", "auto", "whole"])
    parser.add_argument("graphs", nargs="+")
    parser.add_argument("--order", nargs="+", choices=["given", "degree"], default=["given", "degree"])
    parser.add_argument("--gpu-memory", nargs="+", default=["640MiB", "1200MiB"], help="for the table `host`")
    options = parser.parse_args()
    globals()[options.table](options)


if __name__ == "__main__":
    main()
