"""How well does a simulation predict? Calibrates it on two scales at one budget, and predicts others at other budgets.

    python scripts/bench_simulation.py --calibrate 22 23 --budget 1/4 --predict 24 25 --budgets 1/2 1/8

The graphs are symmetric R-MAT graphs with integer lengths from 1 to 255. PageRank runs for ten iterations, SSSP and
ConnectedComponents until they converge. A budget is the share of the edges for which the GPU has memory; edges are raw
(``gather="segmented"``). Without a GPU, the script runs on the CPU only and ignores budgets; then smaller scales do
(--calibrate 17 18 --predict 19 20).

Measurements are kept in `--out`, as tables of ``garaph experiment``. A folder that has them is not measured again, so
the calibration can be repeated on another machine. Of several repeats the fastest counts.

A prediction uses the graph's size, the calibrated machine, and estimated activity: the shares of active vertices in the
same program's run on the largest graph of the calibration. The last column of the Markdown table uses the measured
activity instead, so that its error is that of the machine's model alone.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import garaph_py as gp
from garaph_py import experiment
from garaph_py.errors import DeviceError
from garaph_py.executor.gpu import device as devices
from garaph_py.output import Progress
from garaph_py.simulation import simulate, write_machine
from garaph_py.simulation.calibrate import calibrate, room_of
from garaph_py.simulation.recorded import RecordedRun, fastest, read_results
from garaph_py.simulation.workload import bind_for_types, device_bytes, scaled

PROGRAMS = {
    "PageRank": ('{ name = "PageRank", dtype = "float32", stop = "never", weighted = false }', "iterations = 10\n"),
    "SSSP": ('{{ name = "SSSP", source = {source} }}', ""),
    "ConnectedComponents": ('"ConnectedComponents"', "sync = false\n"),  # in supersteps
}
WITHIN = 0.15
"""The relative error up to which a prediction counts as good."""


def source_of(scale: int, edge_factor: int) -> int:
    """A vertex with many edges: the one with the most edges in a sample of the same graph."""
    sample = gp.rmat(scale, 1 if scale > 20 else edge_factor, directed=False)
    return int(sample.out_degrees.argmax())


def instance(name: str) -> gp.VertexProgram:
    return {
        "PageRank": lambda: gp.apps.PageRank(dtype=np.float32, stop="never", weighted=False),
        "SSSP": lambda: gp.apps.SSSP(0),
        "ConnectedComponents": lambda: gp.apps.ConnectedComponents(),
    }[name]()


def memory(name: str, scale: int, edge_factor: int, budget: Fraction) -> int:
    """Bytes of device memory with room for this share of the edges."""
    n, m = 1 << scale, 2 * edge_factor << scale
    bound = bind_for_types(instance(name), weighted=True)
    width = 4 + (bound.edge.itemsize if bound.reads_edge_values else 0)
    synchronous = name == "PageRank"
    return int(device_bytes(bound, n, m, False, synchronous) * n + budget * m * width)


def spec_text(
    scales: list[int], budgets: list[Fraction], names: list[str], edge_factor: int, repeats: int, pulls: bool
) -> str:
    """The spec of the experiment. If there are several repeats, a first run is not counted.

    With `pulls` there are also runs of SSSP that pull on the CPU, which the CPU otherwise does only beside a GPU.
    """
    text = f"repeats = {repeats}\nwarmups = {int(repeats > 1)}\n"
    for scale in scales:
        source = source_of(scale, edge_factor) if "SSSP" in names else 0
        for name in names:
            program, more = PROGRAMS[name]
            run = f'\n[[runs]]\ngraph = "rmat:{scale}:{edge_factor}:symmetric:weights"\n'
            run += f"program = {program.format(source=source) if name == 'SSSP' else program}\n{more}"
            text += run + 'device = "cpu"\n'
            if pulls and name == "SSSP":
                text += run + 'device = "cpu"\nmode = "pull"\niterations = 5\n'
            sizes = [memory(name, scale, edge_factor, budget) for budget in budgets]
            if sizes:
                text += run + f'device = ["gpu", "hybrid"]\ngather = "segmented"\ngpu_memory = {sizes}\n'
    return text


def measured(folder: Path, *wanted: Any) -> list[RecordedRun]:
    """The runs in `folder`. If there is none, the experiment ``spec_text(*wanted)`` makes it."""
    if not folder.exists():
        with tempfile.TemporaryDirectory() as place, Progress(False) as progress:
            spec = Path(place) / "spec.toml"
            spec.write_text(spec_text(*wanted))
            experiment.run(experiment.read(spec), folder, on_event=progress)
    return fastest(read_results(folder))


def like(run: RecordedRun, others: list[RecordedRun]) -> RecordedRun:
    """The run in `others` that has the same program and policy as `run`, on the largest graph."""
    same = [
        other
        for other in others
        if (other.workload.traits.name, other.options) == (run.workload.traits.name, run.options)
    ]
    return max(same, key=lambda other: other.workload.edges)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calibrate", type=int, nargs="+", default=[22, 23])
    parser.add_argument("--budget", type=Fraction, default=Fraction(1, 4))
    parser.add_argument("--predict", type=int, nargs="+", default=[24, 25])
    parser.add_argument("--budgets", type=Fraction, nargs="+", default=[Fraction(1, 2), Fraction(1, 8)])
    parser.add_argument("--edge-factor", type=int, default=8)
    parser.add_argument("--programs", nargs="+", choices=tuple(PROGRAMS), default=list(PROGRAMS))
    parser.add_argument("--repeats", type=int, nargs=2, default=[2, 1], help="to calibrate, and to compare")
    parser.add_argument("--out", type=Path, default=Path("simulation"))
    options = parser.parse_args()
    started = time.perf_counter()
    try:
        devices.find()
        budgets = [options.budget], options.budgets
    except DeviceError as error:
        print(f"No GPU ({error}): the CPU alone.\n")
        budgets = [], []
    options.out.mkdir(exist_ok=True)
    of = [
        measured(
            options.out / folder, scales, list(shares), options.programs, options.edge_factor, repeats,
            folder == "calibrate",
        )
        for folder, scales, shares, repeats in zip(
            ("calibrate", "predict"), (options.calibrate, options.predict), budgets, options.repeats, strict=True
        )
    ]  # fmt: skip
    machine = calibrate(of[0])
    write_machine(machine, options.out / "machine.toml", f"Calibrated on R-MAT {options.calibrate}, {options.budget}.")
    print("| graph | program | device | edges with room | measured, s | predicted, s | error | active known |")
    print("|" + "---|" * 8)
    errors = []
    for run in sorted(of[1], key=lambda run: (run.workload.traits.name, run.options.device, run.graph)):
        work, profile = run.workload, like(run, of[0]).workload
        expected = scaled(profile.activities, work.vertices / profile.vertices, work.edges / profile.edges)
        room = room_of(run)
        predicted, informed = (
            simulate(replace(work, activities=tuple(activities)), machine, run.options, room).seconds
            for activities in (expected, work.activities)
        )
        share = "-" if run.room is None else f"{run.room / (work.edges * work.edge_bytes):.3f}"
        errors.append(predicted / run.seconds - 1)
        print(
            f"| {run.graph} | {work.traits.name} | {run.options.device} | {share} | {run.seconds:.4f} | "
            f"{predicted:.4f} | {errors[-1]:+.1%} | {informed / run.seconds - 1:+.1%} |"
        )
    good = sum(abs(error) <= WITHIN for error in errors)
    print(f"\n{good} of {len(errors)} within {WITHIN:.0%}, the worst {max(errors, key=abs):+.1%}.")
    print(f"{time.perf_counter() - started:.0f} s in all; measured data and machine.toml in {options.out}.")


if __name__ == "__main__":
    main()
