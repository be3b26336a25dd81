"""The jobs that attacks cut short: each writes something that must be whole or absent, and be kept once acknowledged.

A job works in the current directory, which holds copies of its inputs.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import pyarrow.parquet as pq
import typer
import xxhash

import garaph_py as gp
from garaph_py import events
from garaph_py.checkpoint.files import Files
from garaph_py.checkpoint.store import Store
from garaph_py.errors import DamagedGraphError, ParameterError
from garaph_py.experiment import measure
from garaph_py.io.bulk.build import ImportOptions, write_external
from garaph_py.io.bulk.scan import EdgeSource
from garaph_py.io.formats import ReadOptions, format_of
from garaph_py.native import cache as object_cache
from garaph_py.output import Progress
from garaph_py.storage import directory as store
from garaph_py.storage.manifest import Manifest

from .children import tell

VERTICES, EDGES = 300, 2000
BLOCK_BYTES = 1 << 13
ITERATIONS = 6
LARGE_VERTICES, LARGE_EDGES = 3000, 40_000
RUN_MEMORY = 4_550_000
"""Bytes of memory for a run over so many edges that stay on disk. Checking edges takes 4 MiB of it; some pages stay in
memory, and the others are read again in each iteration."""
SORT_MEMORY = 1 << 28
"""Bytes of memory for an import out of core: the least is half of it."""
KEYS = {f"{key:032x}": bytes(range(256)) * (key + 4) for key in range(4)}
"""Entries of the cache, with code of about 1 KiB."""
SPEC = """repeats = 2
warmups = 0
[sweep]
program = ["PageRank"]
graph = ["edges.tsv"]
device = ["cpu"]
iterations = [2, 3]
"""
MEASUREMENTS = ("0.0", "0.1", "1.0", "1.1")
"""The combinations and repeats of `SPEC`."""
VARYING = re.compile(r"-[0-9a-f]{8}\b|\.\d+(?=\.(data|index|sums|records))")
"""What differs from run to run in the names of files: ids of graphs, and generations of their files."""


class Job(NamedTuple):
    """Something to do that must survive being cut short.

    Attributes
    ----------
    prepare : callable
        Makes the inputs.
    start : callable
        Does the job; it calls `tell` for whatever is then done for good.
    go_on : callable
        What a user does after a failure.
    answer : callable
        ``answer()`` is what the job has made, by name: None for what is absent; equal for equal answers. It raises a
        `GaraphError`, or another error, if something is damaged.
    kept : callable
        ``kept(told, answers)`` is what has been lost of what was told; "" for nothing.
    """

    prepare: Callable[[], object]
    start: Callable[[], object]
    go_on: Callable[[], object]
    answer: Callable[[], dict[str, Any]]
    kept: Callable[[list[Any], dict[str, Any]], str] = lambda told, answers: ""


DONE = "done"
"""What a job tells at its end: all of its answer is there, for good."""


def command(*arguments: str) -> None:
    """The command ``garaph``, which tells that it is done when it has ended well."""
    sys.argv = ["garaph", *arguments]
    try:
        parser()()
    except SystemExit as ending:
        if ending.code:
            raise RuntimeError(f"status {ending.code}: {' '.join(arguments)}") from None
    tell(DONE)


@cache
def parser() -> Any:
    """The command line's parser, which takes long to build."""
    from garaph_py.cli.commands import app

    return typer.main.get_command(app)


def unless_there(start: Callable[[], object], there: str) -> Callable[[], object]:
    """`start` again; if it says that `there` is there already, it is done."""

    def go_on() -> None:
        try:
            start()
        except ParameterError as error:
            if f"{there} already exists" not in str(error):
                raise

    return go_on


def graph_at(name: str) -> Callable[[], dict[str, Any]]:
    """The answer of a job that makes a graph directory."""

    def answer() -> dict[str, Any]:
        if not os.path.lexists(name):
            return {name: None}
        if damage := store.verify(name, threads=1):
            raise damage[0]
        graph = store.open(name, threads=1)
        found = xxhash.xxh3_128()
        for adjacency in (graph._arrays.in_edges, graph._arrays.out_edges):
            found.update(np.ascontiguousarray(adjacency.offsets))
            found.update(np.ascontiguousarray(adjacency.neighbours[:]))
        found.update(str((graph.n, graph.m, graph.directed, graph.ids.array().tolist())).encode())
        return {name: found.hexdigest()}

    return answer


def file_at(name: str) -> Callable[[], dict[str, Any]]:
    """The answer of a job that makes a file."""

    def answer() -> dict[str, Any]:
        with contextlib.suppress(FileNotFoundError):
            return {name: xxhash.xxh3_128_hexdigest(Path(name).read_bytes())}
        return {name: None}

    return answer


def prepare_edges() -> None:
    rng = np.random.default_rng(7)
    for disk in ("a", "b", "c"):
        os.mkdir(disk)
    edges = np.column_stack([*rng.integers(VERTICES, size=(2, EDGES)), rng.integers(1, 9, EDGES)])
    np.savetxt("edges.tsv", edges, "%d", "\t")


def prepare_graph(disks: tuple[str, ...] = (".",)) -> Callable[[], None]:
    def prepare() -> None:
        prepare_edges()
        store.save(gp.read("edges.tsv"), "graph", encoding="raw", disks=disks, block_bytes=BLOCK_BYTES)

    return prepare


def prepare_version_1() -> None:
    prepare_edges()
    with mock.patch.object(store, "Manifest", partial(Manifest, version=1)):
        store.save(gp.read("edges.tsv"), "graph", block_bytes=BLOCK_BYTES)


def upgrade() -> None:
    """Verify and upgrade a graph; damage, which the command prints, is an error here."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        try:
            command("verify", "graph", "--upgrade", "--json", "--quiet")
        except RuntimeError:
            found = json.loads(printed.getvalue())
            raise DamagedGraphError(found["graph"], found["problems"][0]) from None


def upgraded() -> dict[str, Any]:
    """The answer of a job that brings a graph directory to the current version of the format."""
    return graph_at("graph")() | {"version": store.info("graph").version}


def prepare_large() -> None:
    rng = np.random.default_rng(7)
    graph = gp.from_edges(*rng.integers(LARGE_VERTICES, size=(2, LARGE_EDGES)))
    store.save(graph, "graph", encoding="raw", block_bytes=BLOCK_BYTES)


def prepare_old() -> None:
    prepare_edges()
    gp.write(gp.from_edges([0, 1], [1, 2]), "out.csv")


def import_external() -> None:
    path = Path("edges.tsv")
    stream = format_of(path, None).stream
    assert stream is not None
    source = EdgeSource(lambda listener: stream(path, ReadOptions(None, None, 2), listener), False)
    write_external(source, "graph", ImportOptions(), SORT_MEMORY, disks=("a", "b"), threads=2)
    tell(DONE)


def made(name: str, *arguments: str, prepare: Callable[[], object] = prepare_edges) -> Job:
    """A job of a command that makes a graph directory."""

    def start() -> None:
        command(*arguments, "--quiet")

    return Job(prepare, start, unless_there(start, name), graph_at(name))


def again(prepare: Callable[[], object], answer: Callable[[], dict[str, Any]], *arguments: str) -> Job:
    """A job of a command that may be given again."""

    def start() -> None:
        command(*arguments, "--quiet")

    return Job(prepare, start, start, answer)


OUTPUTS = {"output": "ranks.npy", "report": "report.html", "trace": "trace.json"}
CHECKPOINTS = "checkpoints"


def run_start() -> None:
    outputs = [f"--{option}={name}" for option, name in OUTPUTS.items()]
    command(
        "run", "PageRank", "graph", f"--iterations={ITERATIONS}", "--device=cpu", f"--checkpoint={CHECKPOINTS}",
        "--checkpoint-every=1", "--quiet", *outputs,
    )  # fmt: skip


def run_go_on() -> None:
    named_again = [f"--{option}={name}" for option, name in OUTPUTS.items() if os.path.exists(name)]
    try:
        command("resume", CHECKPOINTS, "--quiet", *named_again)
    except ParameterError as error:
        if "a run that has finished removes its checkpoints" not in str(error):
            raise
        run_start()


def run_answer() -> dict[str, Any]:
    """The values, and whether report and trace are whole; both hold times, which vary."""
    answers = file_at(OUTPUTS["output"])()
    for name, whole in ((OUTPUTS["report"], whole_page), (OUTPUTS["trace"], json.loads)):
        answers[name] = None
        if os.path.exists(name):
            whole(Path(name).read_text())
            answers[name] = "whole"
    return answers


def whole_page(text: str) -> None:
    if not text.startswith("<!") or not text.rstrip().endswith("</html>"):
        raise ValueError("the report is not whole")


def run_kept(told: list[Any], answers: dict[str, Any]) -> str:
    """Whether the newest checkpoint that was told is there, or a newer one, or all that the run had to write."""
    last = max((found for found in told if isinstance(found, int)), default=0)
    there = 0
    if os.path.isdir(CHECKPOINTS):
        opened = Store(CHECKPOINTS, Files())
        with contextlib.closing(opened):
            newest = opened.newest()
        there = 0 if newest is None else newest.iterations
    if there < last and None in answers.values():
        return f"checkpoint {last} was acknowledged, {there} is the newest, and there is no answer"
    return ""


def script(resume: bool) -> Callable[[], None]:
    """A script that runs with edges on disk, and writes its answer."""

    def start() -> None:
        graph = store.open("graph", memory=100_000)._replace(memory=RUN_MEMORY)
        result = gp.run(
            gp.apps.PageRank(), graph, device="cpu", iterations=ITERATIONS, checkpoint=CHECKPOINTS, resume=resume,
            options=gp.Options(page_edges=4000, checkpoint_every=1), on_event=tell_checkpoints,
        )  # fmt: skip
        with result:
            result.to_npy("ranks.npy")
            tell(DONE)

    return start


def tell_checkpoints(event: events.Event) -> None:
    if isinstance(event, events.Checkpoint):
        tell(event.iterations)


def experiment_start() -> None:
    command("experiment", "spec.toml", "--out", "results", "--quiet")


def experiment_go_on() -> None:
    if os.path.exists("results/spec.toml"):
        command("experiment", "spec.toml", "--out", "results", "--resume", "--quiet")
    else:
        experiment_start()


def experiment_answer() -> dict[str, Any]:
    """Whether each measurement has been made, also if it failed; their times vary."""
    path, rows = Path("results", "results.parquet"), []
    if path.exists():
        rows = pq.read_table(io.BytesIO(path.read_bytes())).to_pylist()
    return dict.fromkeys(MEASUREMENTS) | {f"{row['combination']}.{row['repeat']}": "made" for row in rows}


def prepare_experiment() -> None:
    prepare_edges()
    Path("spec.toml").write_text(SPEC)


def cache_start() -> None:
    """Store compiled code, which need not be there afterwards."""
    with own_cache():
        for key, code in KEYS.items():
            object_cache.store(key, code)


def cache_answer() -> dict[str, Any]:
    with own_cache():
        found = {key: object_cache.load(key) for key in KEYS}
    return {key: None if code is None else code == KEYS[key] or "wrong" for key, code in found.items()}


@contextlib.contextmanager
def own_cache() -> Iterator[None]:
    """A cache of compiled code in the current directory."""
    before = os.environ.get("GARAPH_CACHE_DIR")
    os.environ["GARAPH_CACHE_DIR"] = os.path.abspath("cache")
    try:
        yield
    finally:
        os.environ.pop("GARAPH_CACHE_DIR")
        if before is not None:
            os.environ["GARAPH_CACHE_DIR"] = before


MACHINE = {"cpu": {"name": "a CPU", "cores": 2}, "gpus": []}
"""Stands in for the description of this machine, which takes seconds to measure."""

JOBS: dict[str, Job] = {
    "import": made("graph", "import", "edges.tsv", "graph", "--disk=a", "--disk=."),
    "import out of core": Job(
        prepare_edges, import_external, unless_there(import_external, "graph"), graph_at("graph")
    ),
    "generate": made("graph", "generate", "rmat", "graph", "--scale=8", "--edge-factor=8", "--weights=1:9"),
    "convert to a directory": made(
        "packed", "convert", "graph", "packed", "--encoding=packed", prepare=prepare_graph()
    ),
    "convert to a file": again(prepare_old, file_at("out.csv"), "convert", "edges.tsv", "out.csv"),
    "restripe": again(
        prepare_graph(("a",)), graph_at("graph"), "restripe", "graph", "--disk=b", "--disk=c", "--disk=."
    ),
    "run": Job(prepare_graph(), run_start, run_go_on, run_answer, run_kept),
    "script with edges on disk": Job(
        prepare_large, script(False), script(True), file_at("ranks.npy"), run_kept
    ),
    "experiment": Job(prepare_experiment, experiment_start, experiment_go_on, experiment_answer),
    "cache": Job(lambda: None, cache_start, cache_start, cache_answer),
    "upgrade": Job(prepare_version_1, upgrade, upgrade, upgraded),
}  # fmt: skip


def stand_in() -> None:
    """Replace what takes long, and matters only when the machine loses power; have checkpoints told."""
    os.fsync = lambda handle: None
    measure.describe = lambda *arguments: MACHINE  # type: ignore[assignment]
    Progress.__call__ = lambda self, event: tell_checkpoints(event)  # type: ignore[method-assign]


def warm(job: Job, folder: Path) -> None:
    """Do a job once in this process, so that its forks have all modules and all compiled code."""
    stand_in()
    folder.mkdir()
    with silent(), contextlib.chdir(folder):
        job.prepare()
        job.start()
        job.answer()


@contextlib.contextmanager
def silent() -> Iterator[None]:
    """Nothing that the block prints is seen; what it logs neither."""
    kept = [(handle, os.dup(handle)) for handle in (1, 2)]
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        for handle, _ in kept:
            os.dup2(nowhere, handle)
        yield
        sys.stdout.flush()
    finally:
        for handle, copy in kept:
            os.dup2(copy, handle)
            os.close(copy)
        os.close(nowhere)


def names_here() -> Counter[str]:
    """All names below the current directory, without what varies in them."""
    return Counter(VARYING.sub("", str(path)) for path in Path().rglob("*"))
