"""How much longer does a cluster on this machine take than a plain run? Times `gp.run(..., cluster=)` beside `gp.run`.

    python scripts/bench_cluster.py [--scale 22] [--rounds 3] [--exchange]
    python scripts/bench_cluster.py --graph DIR --limit 1536MiB --workers 5
    python scripts/bench_cluster.py --slow 3 [--scale 22] [--workers 2] [--iterations 60]
    python scripts/bench_cluster.py --workers 16 [--scale 24] [--rounds 3]
    python scripts/bench_cluster.py --overlap [--workers 2] [--threads 1] [--scale 22] [--rounds 3]

Each round does a plain run, and the same on one worker of two threads, or two workers of one thread: PageRank, ten
iterations. A row has the least and the median of the seconds of all iterations (`Stats.seconds`), of a call that sends
the graph to the workers, and of a call that finds it there, and the medians of the rounds' ratios to the plain run.
Calls that compile are not timed.

With --exchange, two workers send each other values of every size from 1 KB to 64 MB, 20 times each, and the command
prints the times and the line that fits them best: seconds = latency + bytes / bandwidth.
With --graph, workers of one thread, each with that limit on its memory, read their parts of the graph directory, of
which this process reads no edges. The command prints the graph's raw bytes over the limit, the seconds, how the parts
are held, and the most memory that each worker has had.
With --slow, workers of one thread sleep in each superstep, for 50 ns an edge, and one of them so many times as long; so
what else the machine does matters little. The command prints the seconds of an iteration between moves of parts.
With --workers alone, one worker of one thread, then so many of them, and a plain run with as many threads do the same.
A row has the seconds of all iterations, those of an iteration in which the slowest part computes, and the bytes sent.
With --overlap, workers of so many threads send the first new values while they compute the rest, and then, for
comparison, all at the end, in turns. The command prints the least and the median of the seconds of an iteration.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import resource
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import distributed
import numpy as np

import garaph_py as gp
from garaph_py.storage import directory as store
from garaph_py.system.sizes import parse_bytes

ITERATIONS = 10
SIZES = [1 << k for k in range(10, 27, 2)]
REPEATS = 20
CLIENT_BYTES = 64 << 20
"""Memory of the client's graph beside what belongs to its vertices, with --graph: less than its edges take."""
EDGE_SECONDS = 5e-8
"""How long a worker sleeps for an edge, with --slow: some ten times as long as a core here computes for it."""
WAYS = {"one worker, two threads": (1, 2), "two workers, one thread each": (2, 1)}


def local(workers: int, threads: int) -> Any:
    """A cluster on this machine."""
    return distributed.LocalCluster(n_workers=workers, threads_per_worker=threads, dashboard_address=":0")


def timed(graph: gp.Graph, **how: Any) -> tuple[float, float]:
    """The seconds of the iterations, and of the whole call."""
    started = time.perf_counter()
    options = gp.Options(sync=True)
    result = gp.run(gp.apps.PageRank(stop="never"), graph, iterations=ITERATIONS, options=options, **how)
    return result.stats.seconds, time.perf_counter() - started


def compare(graph: gp.Graph, rounds: int) -> None:
    """Print two rows for each kind of cluster."""
    print(
        "| | iterations (s) | first call (s) | later call (s) | ratio of iterations | of first calls | of later calls |"
    )
    print("|---|---|---|---|---|---|---|")
    for name, (workers, threads) in WAYS.items():
        with local(workers, threads) as cluster, distributed.Client(cluster) as client:
            timed(graph), timed(graph, cluster=client)
            measured = [turns(graph, client) for _ in range(rounds)]
        plain = np.array([[each[0][0], each[0][1], each[0][1]] for each in measured])
        ours = np.array([[each[2][0], each[1][1], each[2][1]] for each in measured])
        for label, seconds, ratios in (
            ("plain, two threads", plain, None),
            (name, ours, np.median(ours / plain, axis=0)),
        ):
            cells = [
                f"{least:.2f}, {median:.2f}"
                for least, median in zip(seconds.min(0), np.median(seconds, 0), strict=True)
            ]
            cells += [""] * 3 if ratios is None else [f"{ratio:.2f}" for ratio in ratios]
            print(f"| {label} | {' | '.join(cells)} |", flush=True)


def turns(graph: gp.Graph, client: distributed.Client) -> list[tuple[float, float]]:
    """A plain run, one on the cluster, which gets the graph, and one on the cluster, which has it."""
    plain = timed(graph)
    graph.release()  # the workers drop their parts
    return [plain, timed(graph, cluster=client), timed(graph, cluster=client)]


async def exchanged(nbytes: int, other: str, dask_worker: Any = None) -> list[float]:
    """On a worker: the seconds of sending so many bytes to another, which sends as many back, several times."""
    from distributed.protocol import to_serialize

    seconds, content = [], np.zeros(nbytes, np.uint8)
    for _ in range(REPEATS):
        started = time.perf_counter()
        await dask_worker.rpc(other).echo_of_bench(content=to_serialize(content))
        seconds.append(time.perf_counter() - started)
    return seconds


def add_echo(dask_worker: Any = None) -> None:
    """On a worker: add the operation that sends back what it gets."""
    from distributed.protocol import to_serialize

    async def echo(content: Any) -> dict[str, Any]:
        return {"content": to_serialize(content)}

    dask_worker.handlers["echo_of_bench"] = echo


def exchange() -> None:
    """Print the times of exchanges, and the line that fits them."""
    with local(2, 1) as cluster, distributed.Client(cluster) as client:
        client.run(add_echo)
        one, other = client.scheduler_info()["workers"]
        medians = []
        for nbytes in SIZES:
            seconds = client.run(exchanged, nbytes, other, workers=[one])[one]
            medians.append(statistics.median(seconds))
            print(f"{nbytes:>10,} bytes each way: {min(seconds) * 1e3:8.2f} ms least, {medians[-1] * 1e3:8.2f} median")
    latency = medians[0]
    sizes, times = np.array(SIZES, float), np.array(medians)
    per_byte = float((sizes * (times - latency)).sum() / (sizes**2).sum())
    print(f"seconds = {latency * 1e3:.2f} ms + bytes each way / {1 / per_byte / 1e9:.2f} GB/s")


def peak() -> int:
    """On a worker: the most bytes of memory that it has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def larger(path: str, limit: str, workers: int) -> None:
    """Run over a graph directory that is larger than a worker's memory."""
    manifest = store.info(path)
    graph = gp.open(path, memory=CLIENT_BYTES + 2 * 16 * manifest.vertices)
    bound, raw = parse_bytes(limit, "limit"), graph._arrays.raw_bytes
    print(f"{graph!r}: {raw:,} bytes raw, {raw / bound:.2f} of {limit}; on disk for the client: {graph.on_disk}")
    with distributed.LocalCluster(
        n_workers=workers, threads_per_worker=1, memory_limit=bound, dashboard_address=":0"
    ) as cluster, distributed.Client(cluster) as client:  # fmt: skip
        started = time.perf_counter()
        result = gp.run(gp.apps.PageRank(stop="never"), graph, iterations=ITERATIONS, cluster=client)
        whole = time.perf_counter() - started
        read = sum(one.from_disk for one in result.stats.iterations)
        print(f"{ITERATIONS} iterations {result.stats.seconds:.1f} s, whole call {whole:.1f} s, edges "
              f"{result.stats.encoding}, {read:,} bytes from disk in them; note: {result.stats.note}")  # fmt: skip
        for address, most in client.run(peak).items():
            print(f"{address}: at most {most:,} bytes, {most / bound:.2f} of the limit")
    print("sum of ranks", float(np.asarray(result.values).sum()), "top", result.top(3))


def pace(seconds: float) -> None:
    """On a worker: sleep for so many seconds for each edge of a part in a superstep."""
    from garaph_py.cluster.part_run import PartRun

    step = PartRun.step

    def slowly(self: Any, totals: Any, tell: Any) -> Any:
        time.sleep(seconds * self.part.graph.m)
        return step(self, totals, tell)

    PartRun.step = slowly  # type: ignore[method-assign]


def slowed(graph: gp.Graph, factor: float, workers: int, iterations: int) -> None:
    """Print the time of an iteration while one of the workers is slow, before and after parts have moved."""
    program, options = gp.apps.PageRank(stop="never"), gp.Options(sync=True)
    alone = gp.run(program, graph, iterations=iterations, options=gp.Options(deterministic=True, mode="pull"))
    for how in (1.0, factor):
        with local(workers, 1) as cluster, distributed.Client(cluster) as client:
            gp.run(program, graph, iterations=1, cluster=client)
            slow, *others = sorted(client.scheduler_info()["workers"])
            client.run(pace, EDGE_SECONDS * how, workers=[slow])
            client.run(pace, EDGE_SECONDS, workers=others)
            graph.release()
            result = gp.run(program, graph, iterations=iterations, options=options, cluster=client)
        seconds = np.array([one.seconds for one in result.stats.iterations])
        starts = np.array([one.started for one in result.stats.iterations])
        moved = np.flatnonzero(starts[1:] - starts[:-1] - seconds[:-1] > 1e-3) + 1
        print(f"one worker {how:g} times as slow: all {result.stats.seconds:.1f} s; "
              f"bits of one machine: {np.array_equal(result.values, alone.values)}; {result.stats.note}")  # fmt: skip
        for between in np.split(seconds, moved):
            print(f"  {len(between)} iterations: {between.min():.3f} s least, {np.median(between):.3f} median")


def several(graph: gp.Graph, workers: int, rounds: int) -> None:
    """Print a row each for a worker of one thread, for several of them, and for a plain run with as many threads."""
    program = gp.apps.PageRank(stop="never")
    options, medians = gp.Options(sync=True), []
    print("| | all iterations (s) | computing, of an iteration (s) | whole iteration (s) | bytes sent in it |")
    print("|---|---|---|---|---|")
    for name, count in {"one worker": 1, f"{workers} workers": workers}.items():
        with distributed.LocalCluster(
            n_workers=count, threads_per_worker=1, memory_limit=None, dashboard_address=":0"
        ) as cluster, distributed.Client(cluster) as client:  # fmt: skip
            gp.run(program, graph, iterations=1, cluster=client)  # compiles, and sends the parts
            with tempfile.TemporaryDirectory() as folder:
                trace = Path(folder) / "trace.json"
                traced = dataclasses.replace(options, trace=trace)
                results = [
                    gp.run(program, graph, iterations=ITERATIONS, cluster=client, options=traced) for _ in range(rounds)
                ]
                computing = slowest(trace)
        medians.append(row(name, [result.stats for result in results], computing))
    gp.run(program, graph, iterations=1, threads=workers, options=options)
    results = [gp.run(program, graph, iterations=ITERATIONS, threads=workers, options=options) for _ in range(rounds)]
    row(f"plain, {workers} threads", [result.stats for result in results], None)
    print(f"{workers} workers are {medians[0] / medians[1]:.1f} times as fast as one")


def overlap(graph: gp.Graph, workers: int, threads: int, rounds: int) -> None:
    """Print the times of an iteration with and without overlap of sending and computing."""
    program, options = gp.apps.PageRank(stop="never"), gp.Options(sync=True)
    ways: dict[str, list[float]] = {"overlapped": [], "at the end": []}
    with distributed.LocalCluster(
        n_workers=workers, threads_per_worker=threads, memory_limit=None, dashboard_address=":0"
    ) as cluster, distributed.Client(cluster) as client:  # fmt: skip
        gp.run(program, graph, iterations=1, cluster=client)
        early = max(client.run(set_early, None).values())
        for _ in range(rounds):
            for name, least in zip(ways, (early, 1 << 60), strict=True):
                client.run(set_early, least)
                result = gp.run(program, graph, iterations=ITERATIONS, cluster=client, options=options)
                ways[name] += [one.seconds for one in result.stats.iterations[1:]]
    for name, seconds in ways.items():
        print(f"{name}: {min(seconds):.4f} s least, {statistics.median(seconds):.4f} median")


def set_early(nbytes: int | None) -> int:
    """On a worker: set the least bytes that it sends early; return what was set before."""
    from garaph_py.cluster import part_run

    before, part_run.EARLY = part_run.EARLY, part_run.EARLY if nbytes is None else nbytes
    return before


def slowest(trace: Path) -> list[float]:
    """The longest of the seconds that the parts computed in each iteration."""
    spans: dict[int, float] = {}
    for event in json.loads(trace.read_text())["traceEvents"]:
        if event["ph"] == "X" and event["name"].startswith("tcp:"):
            number = event["args"]["iteration"]
            spans[number] = max(spans.get(number, 0.0), event["dur"] / 1e6)
    return list(spans.values())


def row(name: str, rounds: list[Any], computing: list[float] | None) -> float:
    """Print a row of the table; return the median of the seconds."""
    seconds = [stats.seconds for stats in rounds]
    ones = [one.seconds for one in rounds[-1].iterations]
    cells = [
        f"{min(seconds):.2f}, {statistics.median(seconds):.2f}",
        "" if computing is None else f"{statistics.median(computing):.3f}",
        f"{statistics.median(ones):.3f}",
        f"{statistics.median(one.sent for one in rounds[-1].iterations):,.0f}",
    ]
    print(f"| {name} | {' | '.join(cells)} |", flush=True)
    return statistics.median(seconds)


def main() -> None:
    os.environ["CUDA_VISIBLE_DEVICES"] = ""  # this process and the workers compare CPUs
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=int, default=22, help="of the R-MAT graph, with 16 edges per vertex")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--exchange", action="store_true")
    parser.add_argument("--graph", help="a graph directory, which the workers read")
    parser.add_argument("--limit", default="1536MiB", help="of each worker's memory, with --graph")
    parser.add_argument("--workers", type=int, help="with --graph (5), --slow (2) or --overlap (2), or alone")
    parser.add_argument("--overlap", action="store_true")
    parser.add_argument("--threads", type=int, default=1, help="of each worker, with --overlap")
    parser.add_argument("--slow", type=float, help="how many times as long one worker is to sleep")
    parser.add_argument("--iterations", type=int, default=60, help="with --slow")
    given = parser.parse_args()
    if given.graph is not None:
        larger(given.graph, given.limit, given.workers or 5)
    elif given.exchange:
        exchange()
    elif given.slow is not None:
        slowed(gp.rmat(given.scale, 16, seed=1), given.slow, given.workers or 2, given.iterations)
    elif given.overlap:
        overlap(gp.rmat(given.scale, 16, seed=1), given.workers or 2, given.threads, given.rounds)
    elif given.workers is not None:
        several(gp.rmat(given.scale, 16, seed=1), given.workers, given.rounds)
    else:
        compare(gp.rmat(given.scale, 16, seed=1), given.rounds)


if __name__ == "__main__":
    main()
