"""Which bound on f should switch between notify-pull and pull? Times every iteration in both modes.

Synchronous iterations have the same frontier whatever the mode, so the two forced runs can be compared iteration by
iteration; a bound's cost is the sum, over the iterations, of the time of the mode it would have chosen. Medians of
interleaved runs. The best bound is printed beside the paper's 1/2 (Garaph section 4.2) and the oracle.

    python scripts/bench_threshold.py --scale 18
"""

from __future__ import annotations

import argparse
import statistics
from typing import Any

import garaph_py as gp

BOUNDS = (0.0, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)


def seconds(program: Any, graph: Any, mode: str) -> list[tuple[float, float]]:
    """(f, seconds) of every iteration."""
    rows = gp.run(program, graph, mode=mode).stats.iterations
    return [(row.f, row.seconds) for row in rows]


def compare(program: Any, graph: Any, repeats: int) -> dict[str, float]:
    runs: dict[str, list[list[tuple[float, float]]]] = {"pull": [], "notify-pull": []}
    for _ in range(repeats + 1):
        for mode, done in runs.items():
            done.append(seconds(program, graph, mode))
    pull, notify = (
        [(rows[0][0], statistics.median(row[1] for row in rows)) for rows in zip(*runs[mode][1:], strict=True)]
        for mode in runs
    )
    costs = {
        f"{bound:g}": sum(n if f <= bound else p for (f, p), (_, n) in zip(pull, notify, strict=True))
        for bound in BOUNDS
    }
    return costs | {"oracle": sum(min(p, n) for (_, p), (_, n) in zip(pull, notify, strict=True))}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--scale", type=int, default=18, help="2^scale vertices")
    arguments.add_argument("--repeats", type=int, default=5)
    given = arguments.parse_args()
    print(f"ms in all, by bound on f; scale {given.scale}, edge factor 16")
    print(f"{'':<28}" + "".join(f"{name:>9}" for name in (*map("{:g}".format, BOUNDS), "oracle")))
    for kind, make in (("rmat", gp.rmat), ("uniform", gp.uniform)):
        graph = make(given.scale, directed=False, weights=(1, 255))
        source = int(graph.out_degrees.argmax())
        for program in (gp.apps.BFS(source), gp.apps.SSSP(source), gp.apps.ConnectedComponents()):
            costs = compare(program, graph, given.repeats)
            print(f"{kind + ' ' + type(program).__name__:<28}" + "".join(f"{s * 1e3:>9.2f}" for s in costs.values()))


if __name__ == "__main__":
    main()
