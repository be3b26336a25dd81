"""How well does a simulation predict? Calibrates it on some graphs, and simulates runs over others. Prints Markdown.

    python scripts/bench_simulation.py [--device cpu gpu hybrid] [--gpu-memory 1/2 1/8] [--rounds 12]

Each program runs under each engine on each graph. `--calibrate` and `--predict` name the graphs, as in the spec of an
experiment, or ``grid:SIDE``, ``cube:SIDE`` (a grid of three dimensions), ``maze:SIDE`` (a grid that lacks a third of
its edges) and ``world:SCALE:EDGE_FACTOR`` (neighbours on a ring, a tenth of the edges anywhere), which this script
makes; without edge values if ``:plain`` follows. "tutorial" is the policy that docs/scheduling.md builds, and
"measured" the one of docs/gallery/policy.py, which chooses by the seconds of earlier iterations. In a simulation, it
observes predicted seconds.

PageRank runs for ten iterations, the others until they converge: BFS and SSSP from the vertex with the most edges,
ConnectedComponents in supersteps, SSSP under the tutorial's policy synchronously (its pulls open each bucket anew: ten
thousand iterations on a grid). All runs under "measured" are synchronous: then the recorded numbers of active vertices
hold whichever modes the simulated policy chooses. GPUs have memory for a share of the edges (`--gpu-memory`), which are
raw.

All runs are repeated in rounds, because a machine is slower for minutes at a time. The median of all repeats counts;
with `--fastest`, for machines that others disturb, the fastest. "spread" is the median over the fastest, and "again"
what counts of every other round over that of the others: how well the measurement itself predicts. A simulation knows
the graph's shape and the numbers of active vertices; "iterations" is the median ratio of those that take more than a
hundredth of their run. "*": the simulation says that it extrapolates. On a CPU alone, the last line is for machines
that were calibrated without any run of the program that is simulated: its costs are those of another one, adapted to
what it took over several graphs (`COMPARE`).

Measurements are kept in `--out`, as tables of ``garaph experiment``, with the calibrated machine.toml. In a folder that
has rounds, only those that it lacks are measured.
"""

from __future__ import annotations

import argparse
import itertools
import os
import re
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from garaph_py import experiment
from garaph_py.errors import DeviceMemoryError, ParameterError
from garaph_py.graph.build import without_values
from garaph_py.io.write import write
from garaph_py.output import Progress
from garaph_py.simulation import simulate, write_machine
from garaph_py.simulation.assess import extrapolations
from garaph_py.simulation.calibrate import calibrate
from garaph_py.simulation.compare import most_alike, with_costs
from garaph_py.simulation.graphs import cube, grid, maze, world
from garaph_py.simulation.machine import Machine
from garaph_py.simulation.recorded import RecordedRun, fastest, read_results, room_of, typical
from garaph_py.simulation.simulate import Simulation

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("GARAPH_REFERENCE_DATA", ROOT / "data"))
WEIGHTED, PLAIN = ":symmetric:weights", ":plain"
CALIBRATE = [
    *(f"rmat:{one}{WEIGHTED}" for one in ("12:16", "14:8", "16:2", "16:8", "18:8", "20:8")),
    *(f"uniform:{one}{WEIGHTED}" for one in ("14:2", "16:8", "18:4", "18:16")),
    "cube:24", "cube:40", "maze:150", "maze:450", "world:14:8", "world:16:4", "world:18:2",
    *(f"rmat:{one}:symmetric" for one in ("13:16", "15:8", "17:2", "19:8")),
    *(f"uniform:{one}:symmetric" for one in ("15:8", "18:2")),
    "cube:30:plain", "maze:180:plain", "world:15:8:plain",
]  # fmt: skip
REAL = {
    "cit-hepph": ":symmetric", "wordnet-3.0": ":symmetric", "ego-facebook": "", "metis-4elt": "", "road-rome": "",
    "linux-symrefs": ":symmetric",
}  # fmt: skip
PREDICT = [
    f"{ROOT / 'data' / 'debian-sid-deps.tsv.xz'}:symmetric", "grid:300",
    *(f"{one}{WEIGHTED}" for one in ("rmat:17:4", "rmat:17:16", "uniform:17:4")),
    *(f"{DATA / name}.npz{symmetric}" for name, symmetric in REAL.items() if (DATA / f"{name}.npz").exists()),
]  # fmt: skip
COMPARE = [
    *(f"rmat:{one}{WEIGHTED}" for one in ("18:8", "15:8", "14:8", "12:16")),
    *(f"uniform:{one}{WEIGHTED}" for one in ("18:4", "15:4", "14:2")),
    "cube:40", "cube:24", "maze:450", "maze:150", "world:18:2", "world:14:8",
    *(f"rmat:{one}:symmetric" for one in ("13:16", "15:8", "17:2")),
    *(f"uniform:{one}:symmetric" for one in ("15:8", "18:2")),
    "cube:30:plain", "maze:180:plain", "world:15:8:plain",
]  # fmt: skip
"""The graphs over which programs are compared. `garaph simulate` takes the first 13, without edge values if the run has
none; those without edge values here are some of `CALIBRATE`."""
PROGRAMS = {
    "PageRank": '{ name = "PageRank", dtype = "float32", stop = "never", weighted = false }',
    "BFS": '{ name = "BFS", source = "largest" }',
    "SSSP": '{ name = "SSSP", source = "largest" }',
    "ConnectedComponents": '"ConnectedComponents"',
}
POLICIES = {"tutorial": ("scheduling.md", "Patient"), "measured": ("gallery/policy.py", "Measured")}
"""The policies of the documentation: for each, the file in docs/ and the class."""
ENGINES = ("garaph", "auto", *POLICIES)
KEEPS = "garaph:keep=yes"
"""The engine of "garaph": pages that fit a GPU stay there under each of `ENGINES`. Older tables call it "garaph", which
kept them, too, until 2026-11-29."""
WITHIN = 0.15
"""The relative error up to which a prediction counts as good."""
NOTICEABLE = 0.01
"""Share of its run from which an iteration is compared by itself."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calibrate", nargs="+", default=CALIBRATE, metavar="GRAPH")
    parser.add_argument("--predict", nargs="+", default=PREDICT, metavar="GRAPH")
    parser.add_argument("--programs", nargs="+", choices=tuple(PROGRAMS), default=list(PROGRAMS))
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES))
    parser.add_argument("--device", nargs="+", choices=("cpu", "gpu", "hybrid"), default=["cpu"])
    parser.add_argument("--gpu-memory", nargs="+", default=["1/2", "1/8"], help="shares of the edges, such as 1/4")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--repeats", type=int, default=2, help="of each run in a round")
    parser.add_argument("--fastest", action="store_true", help="the fastest repeat counts, not the median")
    parser.add_argument("--out", type=Path, default=Path("simulation"))
    options = parser.parse_args()
    options.out.mkdir(exist_ok=True)
    comparisons = COMPARE if options.device == ["cpu"] else []
    known, held, compare = (
        [place(name, options.out) for name in names] for names in (options.calibrate, options.predict, comparisons)
    )
    engines = {name: engine_of(name, options.out) for name in options.engines}
    graphs = list(dict.fromkeys([*known, *held, *compare]))
    text = spec_text(graphs, options.programs, engines, options.device, options.gpu_memory, options.repeats)
    rounds = [measured(options.out / f"round-{number}", text, engines) for number in range(options.rounds)]
    chosen = (fastest if options.fastest else typical)(itertools.chain.from_iterable(rounds))
    seen, unseen, small = ([run for run in chosen if run.graph in names] for names in (known, held, compare))
    machine = calibrate(seen)
    write_machine(machine, options.out / "machine.toml", f"Calibrated on {', '.join(options.calibrate)}.")
    names = {path: name for name, path in engines.items()}
    found_runs = Measured(rounds, min if options.fastest else statistics.median)
    unseen = list({key_of(run): run for run in unseen}.values())  # a hybrid run may begin on other threads
    rows = [row for run in unseen if (row := Row.of(run, found_runs, machine, names)) is not None]
    show(rows)
    others = [
        row for program in options.programs for row in without(program, (seen, small, unseen), found_runs, names)
    ]  # fmt: skip
    if others:
        print(f"\nPrograms that were not calibrated: {good(row.ratio for row in others)}.")


def place(name: str, folder: Path) -> str:
    """The name of a graph for a spec; one that only this script makes is written to a file in `folder`."""
    kind, *numbers = name.removesuffix(PLAIN).split(":")
    if kind not in MAKERS:
        return name
    path = folder.resolve() / f"{name.replace(':', '-')}.npz"
    if not path.exists():
        graph = MAKERS[kind](*map(int, numbers))
        write(without_values(graph) if name.endswith(PLAIN) else graph, path)
    return str(path)


MAKERS = {"grid": grid, "cube": cube, "maze": maze, "world": world}


def engine_of(name: str, folder: Path) -> str:
    """The engine of a spec; a policy of the documentation is written to a file of its own in `folder`."""
    if name not in POLICIES:
        return KEEPS if name == "garaph" else name
    source, kind = POLICIES[name]
    found = re.search(
        rf"^class {kind}\(gp\.Policy\):\n(?:(?: .*)?\n)+", (ROOT / "docs" / source).read_text(), re.MULTILINE
    )
    assert found is not None, source
    path = folder.resolve() / f"{name}.py"
    path.write_text(f"import garaph_py as gp\n\n\n{found[0].rstrip()}\n")
    return f"{path}:{kind}"


def spec_text(
    graphs: list[str], programs: list[str], engines: dict[str, str], devices: list[str], memory: list[str],
    repeats: int,
) -> str:  # fmt: skip
    """The spec of the experiment. A first run of each combination, which compiles, is not counted."""
    text = f"repeats = {repeats}\nwarmups = 1\n"
    for program in programs:
        for name, engine in engines.items():
            run = f"\n[[runs]]\ngraph = {graphs}\nprogram = {PROGRAMS[program]}\nengine = {engine!r}\n"
            if program == "PageRank":
                run += "iterations = 10\n"
            if name == "measured" or (name == "tutorial" and program == "SSSP"):
                run += "sync = true\n"
            elif name != "garaph" and program == "ConnectedComponents":
                run += "sync = false\n"
            if "cpu" in devices:
                text += run + 'device = "cpu"\n'
            if others := [device for device in devices if device != "cpu"]:
                text += run + f'device = {others}\ngather = "segmented"\ngpu_memory = {memory}\n'
    return text


def measured(folder: Path, text: str, engines: dict[str, str]) -> list[RecordedRun]:
    """The runs in `folder`, which are made if there are none, under these engines."""
    if not folder.exists():
        spec = folder.parent / "spec.toml"
        spec.write_text(text)
        with Progress(False) as progress:
            experiment.run(experiment.read(spec), folder, on_event=progress)
    found = [
        replace(run, options=replace(run.options, engine=KEEPS)) if run.options.engine == "garaph" else run
        for run in read_results(folder, engines.values())
    ]
    if others := {run.options.engine for run in found}.difference(engines.values()):
        raise SystemExit(
            f"{folder}: its runs are under {', '.join(sorted(others))}, not {', '.join(engines.values())}; name the "
            "--engines that it has, put it back where it was measured if it was moved, or choose another --out"
        )
    return found


@dataclass(frozen=True)
class Measured:
    """The runs of all rounds, and what counts of the times of repeats: the least, or the median."""

    rounds: Sequence[Iterable[RecordedRun]]
    counts: Callable[[Iterable[float]], float]


@dataclass(frozen=True)
class Row:
    """A measured run and its simulation; the times of its repeats by round, and what counts of them."""

    run: RecordedRun
    engine: str
    rounds: tuple[tuple[float, ...], ...]
    counts: Callable[[Iterable[float]], float]
    done: Simulation
    extrapolates: bool

    @classmethod
    def of(cls, run: RecordedRun, measured: Measured, machine: Machine, names: dict[str, str]) -> Row | None:
        """Simulate one of the `measured` runs; None, with a line about it, if that is not possible."""
        same = tuple(tuple(one.seconds for one in each if key_of(one) == key_of(run)) for each in measured.rounds)
        engine = names[run.options.engine]
        try:
            done = simulate(run.workload, machine, run.options, room_of(run))
        except (ParameterError, DeviceMemoryError) as error:
            print(f"{run.workload.traits.name}, {Path(run.graph).name}, {engine}, {run.options.device}: {error}\n")
            return None
        beyond = bool(extrapolations(machine, run.workload, done, run.options.policy))
        return cls(run, engine, same, measured.counts, done, beyond)

    @property
    def seconds(self) -> list[float]:
        """The times of all repeats."""
        return list(itertools.chain.from_iterable(self.rounds))

    @property
    def measured(self) -> float:
        return self.counts(self.seconds)

    @property
    def ratio(self) -> float:
        return self.done.seconds / self.measured

    @property
    def spread(self) -> float:
        """The median repeat over the fastest."""
        return statistics.median(self.seconds) / min(self.seconds)

    @property
    def halves(self) -> list[float]:
        """What counts of every other round, and of the others."""
        halves = (list(itertools.chain.from_iterable(half)) for half in (self.rounds[::2], self.rounds[1::2]))
        return [self.counts(half) for half in halves if half]

    @property
    def again(self) -> float:
        """How well one half of the measurements predicts the other."""
        return self.halves[-1] / self.halves[0]

    @property
    def of_iterations(self) -> float:
        """The median ratio of the iterations that take a noticeable part of the run."""
        pairs = zip(self.done.iterations, self.run.rows, strict=True)
        least = NOTICEABLE * self.run.seconds
        ratios = [one.seconds / row["seconds"] for one, row in pairs if row["seconds"] > least]
        return statistics.median(ratios) if ratios else self.ratio


def key_of(run: RecordedRun) -> tuple[object, ...]:
    """What two repeats of a run have in common."""
    return run.graph, run.workload.traits, run.options, run.room


def without(program: str, runs: tuple[list[RecordedRun], ...], measured: Measured, names: dict[str, str]) -> list[Row]:
    """The unseen runs of a program, on a machine that is calibrated with the others it has seen.

    The program's costs are those of one that is like it, adapted to what it took over the graphs to compare.
    """
    seen, small, unseen = runs
    others = [run for run in seen if run.workload.traits.name != program]
    own = [run for run in unseen if run.workload.traits.name == program]
    if not others or not own or any(run.options.device != "cpu" for run in seen):
        return []
    machine = calibrate(others)
    if (other := most_alike(own[0].workload.traits, machine)) is not None:
        machine = with_costs(machine, program, type(other).__name__, small)
    return [row for run in own if (row := Row.of(run, measured, machine, names)) is not None]


def show(rows: list[Row]) -> None:
    """Print the table, and the counts of good predictions."""
    print("| program | graph | engine | device | measured, ms | spread | again | simulated, ms | ratio | iterations |")
    print("|---" * 10 + "|")
    for row in sorted(rows, key=lambda row: (row.run.workload.traits.name, row.run.graph, row.engine)):
        program, beyond = row.run.workload.traits.name, " *" * row.extrapolates
        name = Path(row.run.graph).name.removesuffix(WEIGHTED).removesuffix(":symmetric")
        device = row.run.options.device
        if row.run.room is not None:
            device += f" {row.run.room / (row.run.workload.edges * row.run.workload.edge_bytes):.2f}"
        print(
            f"| {program} | {name} | {row.engine} | {device} | {1e3 * row.measured:.2f} | "
            f"{row.spread:.2f} | {row.again:.2f} | {1e3 * row.done.seconds:.2f}{beyond} | {row.ratio:.2f} | "
            f"{row.of_iterations:.2f} |"
        )
    print(f"\nAll: {good(row.ratio for row in rows)}.")
    misses = [row for row in rows if abs(row.ratio - 1) > WITHIN]
    near = [row for row in misses if any(abs(row.done.seconds / half - 1) <= WITHIN for half in row.halves)]
    print(f"The measurement again: {good(row.again for row in rows)}; {len(near)} of {len(misses)} misses hit a half.")
    for what in (
        lambda row: row.run.options.device, lambda row: row.engine, lambda row: row.run.workload.traits.name,
        lambda row: "extrapolated" if row.extrapolates else "not extrapolated", lambda row: Path(row.run.graph).name,
    ):  # fmt: skip
        groups = dict.fromkeys(map(what, rows))
        print("; ".join(f"{one}: {good(row.ratio for row in rows if what(row) == one)}" for one in groups) + ".")


def good(ratios: Iterable[float]) -> str:
    """How many predictions are good."""
    errors = [abs(ratio - 1) for ratio in ratios]
    count = sum(error <= WITHIN for error in errors)
    return f"{count} of {len(errors)} within {WITHIN:.0%}, {statistics.median(errors):.0%} off in the median"


if __name__ == "__main__":
    main()
