"""Are the answers over a graph far larger than memory right, and what do they take? Prints a Markdown table.

    python scripts/bench_scale.py FOLDER [STEP ...] [--scale 27] [--edge-factor 75] [--memory 8GiB] [--iterations 2]
        [--encoding packed] [--weights]

FOLDER is on the disk that is measured. By default these steps are done, each in a process of its own, with
`--memory` for the graph and the run:

- generate: an undirected R-MAT graph, in this `--encoding`, into FOLDER/graph. Scale 27 and edge factor 75 make 20
  billion stored edges. With `--weights`, these have values from 1 to 64, which take four bytes each if they are raw.
- PageRank (so many `--iterations`), ConnectedComponents, BFS and, with `--weights`, SSSP from the vertex with the most
  edges. PageRank:gpu or PageRank:hybrid, and so on, do it on that device, in `--gpu-memory`.
- check: the answers of the CPU, or else of the first other device (`scale_checks.py`), in as many passes over the edges
  as PageRank has iterations, and one for SSSP. Those of the other devices are compared with these; parents, which may
  differ, are checked for each.

What a step has done and measured stays in FOLDER, so that the steps can be done in commands of their own, with the same
scale, edge factor and iterations; a step that has been done is not repeated. The script fails if an answer is wrong.
"peak" is the most memory of the process, Python included; "disk" is the speed of `dd` past the page cache, over 4 GiB,
just before the step, and before it the graph's pages leave the page cache.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from graphs import hub
from scale_checks import DAMPING, agree, verify

import garaph_py as gp
from garaph_py.graph.generate import random_rmat
from garaph_py.io.bulk.build import ImportOptions
from garaph_py.io.bulk.import_ import write_random

PROGRAMS = "PageRank", "ConnectedComponents", "BFS", "SSSP"
WEIGHTS = 1, 64
DD_BLOCK, DD_BLOCKS = 1 << 24, 256
"""Bytes of each read and write of `dd`, and their number."""


def generate(given: argparse.Namespace) -> dict[str, Any]:
    """Write the graph."""
    written = given.folder / "dd"
    try:
        disk = dd("if=/dev/zero", f"of={written}", "oflag=direct")
    finally:
        written.unlink(missing_ok=True)
    started = time.perf_counter()
    how = ImportOptions(directed=False, encoding=given.encoding)
    weights = WEIGHTS if given.weights else None
    phases, edges = Phases(), random_rmat(given.scale, given.edge_factor, weights=weights)
    write_random(edges, given.folder / "graph", how, memory=given.memory, on_event=phases)
    return {"seconds": time.perf_counter() - started, "disk": disk, "phases": phases.seconds}


class Phases:
    """A listener that adds up the seconds of each step; those between two steps count as sorting."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._phase, self._since = "sorting", time.perf_counter()

    def __call__(self, event: gp.events.Event) -> None:
        if isinstance(event, gp.events.Step):
            now = time.perf_counter()
            self.seconds[self._phase] = self.seconds.get(self._phase, 0.0) + now - self._since
            name = event.name.partition(" (")[0].replace("sorting in-edges", "writing")
            self._phase, self._since = name if event.done < event.total else "sorting", now


def compute(given: argparse.Namespace, name: str, device: str) -> dict[str, Any]:
    """Run a program, and keep its answer."""
    graph, disk = opened(given)
    programs: dict[str, gp.VertexProgram] = {
        "PageRank": gp.apps.PageRank(damping=DAMPING, stop="never", weighted=False, dtype=np.float32),
        "ConnectedComponents": gp.apps.ConnectedComponents(),
        "BFS": gp.apps.BFS(source=hub(graph)),
        "SSSP": gp.apps.SSSP(source=hub(graph)),
    }
    ranks = name == "PageRank"
    options = gp.Options(sync=ranks or None, gpu_memory=given.gpu_memory if device != "cpu" else None)
    started = time.perf_counter()
    iterations = given.iterations if ranks else None
    found = gp.run(programs[name], graph, device=device, iterations=iterations, options=options)
    seconds = time.perf_counter() - started
    folder = answers(given, device)
    folder.mkdir(exist_ok=True)
    columns = found.values.dtype.names
    for column in columns or ["value"]:
        np.save(folder / f"{name}-{column}.npy", found.values[column] if columns else found.values)
    kept = "mode", "active", "seconds", "compile_seconds", "from_disk"
    rows = [{key: getattr(row, key) for key in kept} for row in found.stats.iterations]
    return {"seconds": seconds, "disk": disk, "rows": rows}


def check(given: argparse.Namespace) -> dict[str, Any]:
    """Check the answers of the first device, the CPU if it has any, and compare those of other devices with them."""
    graph, disk = opened(given)
    started = time.perf_counter()
    devices = {}  # the name of each step on a GPU: the program, and the folder of the answers
    for step in sorted(path.stem for path in given.folder.glob("*:*.json")):
        name, _, device = step.partition(":")
        devices[step] = name, answers(given, device)
    folders = [answers(given, "cpu"), *(path for _, path in devices.values())]
    first = next((path for path in folders if path.exists()), None)
    if first is None:
        raise SystemExit(f"{given.folder} has no answers to check; do the step of a program first")
    same = {step: agree(name, first, folder) for step, (name, folder) in devices.items()}
    searches = {step: folder for step, (name, folder) in devices.items() if name == "BFS" and folder != first}
    right = verify(graph, first, given.iterations, {step: path for step, path in searches.items() if same[step]})
    for step, (name, _) in devices.items():
        right[step] = same[step] and right[name] and right.get(step, True)
    return {"seconds": time.perf_counter() - started, "disk": disk, "right": right}


def answers(given: argparse.Namespace, device: str) -> Path:
    """The folder of a device's answers."""
    path: Path = given.folder / f"answers-{device}"
    return path


def opened(given: argparse.Namespace) -> tuple[gp.Graph, float]:
    """The graph, no pages of which are in the page cache, and the speed of its disk, in bytes per second."""
    folder = given.folder / "graph"
    for path in folder.iterdir():
        handle = os.open(path, os.O_RDONLY)
        os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(handle)
    disk = dd(f"if={folder / 'in_sources.data'}", "of=/dev/null", "iflag=direct")
    return gp.open(folder, memory=given.memory), disk


def dd(*how: str) -> float:
    """The speed of `dd`, in bytes per second; NaN if the file cannot bypass the page cache."""
    command, started = ["dd", f"bs={DD_BLOCK}", f"count={DD_BLOCKS}", *how], time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"})
    seconds = time.perf_counter() - started
    return int(done.stderr.splitlines()[-1].split()[0]) / seconds if not done.returncode else math.nan


def one(given: argparse.Namespace) -> None:
    """Do one step, and keep what it has measured."""
    name, _, device = given.one.partition(":")
    if name == "generate":
        measured = generate(given)
    elif name == "check":
        measured = check(given)
    else:
        measured = compute(given, name, device or "cpu")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    (given.folder / f"{given.one}.json").write_text(json.dumps({**measured, "peak": peak}))


def table(given: argparse.Namespace) -> bool:
    """Print what has been measured so far; return whether no answer has been found wrong."""
    steps = [*PROGRAMS, *sorted(path.stem for path in given.folder.glob("*:*.json"))]
    measured = {
        step: json.loads((given.folder / f"{step}.json").read_text())
        for step in ("generate", *steps, "check")
        if (given.folder / f"{step}.json").exists()
    }
    right = measured.get("check", {}).get("right", {})
    if (given.folder / "graph").exists():
        stored = sum(path.stat().st_size for path in (given.folder / "graph").iterdir())
        graph = gp.open(given.folder / "graph", memory=given.memory)
        print(f"{graph!r}: {stored / 1e9:.1f} GB on disk, {given.memory} of memory\n")
    heads = "step", "phases or iterations: seconds (MiB read; GB/s)", "s", "peak, GiB", "disk, GB/s", "answer"
    print(f"| {' | '.join(heads)} |\n{'|---' * len(heads)}|")
    for step, found in measured.items():
        phases = [f"{name} {seconds:.1f}" for name, seconds in found.get("phases", {}).items()]
        rows = ", ".join([*phases, *map(told, found.get("rows", ()))])
        answer = {True: "right", False: "WRONG", None: ""}[right.get(step)]
        seconds, peak, disk = found["seconds"], found["peak"] / (1 << 30), found["disk"] / 1e9
        print(f"| {step} | {rows} | {seconds:.1f} | {peak:.1f} | {disk:.2f} | {answer} |")
    return all(right.values())


def told(row: dict[str, Any]) -> str:
    """An iteration, as the table shows it."""
    seconds, read, compiling = row["seconds"], row["from_disk"], row["compile_seconds"]
    speed = f"; {read / seconds / 1e9:.2f}" if read > seconds * 1e8 else ""
    beside = f" + {compiling:.1f} compiling" if compiling >= 0.1 else ""
    return f"{row['mode']} of {row['active']:,} {seconds:.2f}{beside} ({read / 2**20:,.0f}{speed})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("steps", nargs="*", metavar="STEP")
    parser.add_argument("--scale", type=int, default=27)
    parser.add_argument("--edge-factor", type=int, default=75)
    parser.add_argument("--encoding", choices=("packed", "raw"), default="packed")
    parser.add_argument("--memory", default="8GiB")
    parser.add_argument("--gpu-memory")
    parser.add_argument("--iterations", type=int, default=2)
    parser.add_argument("--weights", action="store_true")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        return one(given)
    given.folder.mkdir(exist_ok=True)
    asked = {name: getattr(given, name) for name in ("scale", "edge_factor", "encoding", "iterations", "weights")}
    options = given.folder / "options.json"
    if options.exists() and (before := json.loads(options.read_text())) != asked:
        parser.error(f"the steps in {given.folder} were done with {before}; give the same, or another folder")
    options.write_text(json.dumps(asked))
    programs = PROGRAMS if given.weights else PROGRAMS[:-1]
    for step in given.steps or ["generate", *programs, "check"]:
        if not (given.folder / f"{step}.json").exists():
            subprocess.run([sys.executable, __file__, *sys.argv[1:], "--one", step], check=True)
    sys.exit(0 if table(given) else "an answer is wrong")


if __name__ == "__main__":
    main()
