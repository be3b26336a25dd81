"""Draws Garaph's Figures 8 and 9 for this machine's GPU: the time of pages, and of a whole graph, with replication.

    python scripts/draw_replication.py GRAPH OUTPUT_DIRECTORY [--order given|degree]

GRAPH is named as for bench_gpu.py. Figure 8 divides the graph into 33 pages and shows the time of PageRank's kernel for
each, without replication and with the factors of equation 2. Figure 9 shows the whole graph's time with each fixed
factor, and with equation 2 at the mean of its factors. The script writes figure8.csv, figure9.csv and replication.png
to the directory, and prints the figures that the paper states. It needs matplotlib.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

import numpy as np
from bench_gpu import Timed
from graphs import load

import garaph_py as gp
from garaph_py.errors import ParameterError
from garaph_py.executor.gpu.gather import CUSTOM, REPLICATED
from garaph_py.executor.gpu.replication import FACTORS
from garaph_py.executor.gpu.settings import Settings
from garaph_py.graph.build import rebuilt

PAGES = 33


def seconds(graph: gp.Graph, replication: str | int, pages: int) -> tuple[list[float], list[int], float]:
    """The seconds and the largest in-degree of each page, and the mean replication factor over destinations."""
    how = Settings(
        gather=REPLICATED, replication=replication, page_edges=graph.m // pages + graph.m // 500 * (pages > 1)
    )
    with Timed(graph, how) as timed:
        launch = timed.kernel.gather.launch
        took = [timed.seconds(partial(launch, page, task)) for page, task in timed.tasks()]
        largest = [int(graph.in_degrees[page.first_vertex : page.last_vertex].max()) for page in timed.pages]
        return took, largest, timed.kernel.gather.mean_factor()


def draw(figure8: np.ndarray, figure9: list[tuple[str, float, float]], path: Path) -> None:
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ParameterError("drawing needs matplotlib; pip install matplotlib") from None
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4))
    left.plot(figure8[:, 1] * 1e3, "o-", label="R = 1")
    left.plot(figure8[:, 2] * 1e3, "s-", label="equation 2")
    left.set(xlabel="page", ylabel="ms", yscale="log", title="Figure 8: time of each page")
    left.legend()
    right.plot([mean for _, mean, _ in figure9[:-1]], [took * 1e3 for *_, took in figure9[:-1]], "o-", label="fixed R")
    right.plot([figure9[-1][1]], [figure9[-1][2] * 1e3], "r*", markersize=14, label="equation 2, mean R")
    right.set(xlabel="replication factor", ylabel="ms", xscale="log", title="Figure 9: the whole graph")
    right.set_xscale("log", base=2)
    right.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph")
    parser.add_argument("output", type=Path)
    parser.add_argument("--order", choices=["given", "degree"], default="given")
    options = parser.parse_args()
    graph = load(options.graph)
    graph = rebuilt(graph, order="degree") if options.order == "degree" else graph
    options.output.mkdir(parents=True, exist_ok=True)
    without, largest, _ = seconds(graph, 1, PAGES)
    with_it, _, _ = seconds(graph, CUSTOM, PAGES)
    figure8 = np.column_stack([largest, without, with_it])
    np.savetxt(
        options.output / "figure8.csv",
        figure8,
        delimiter=",",
        header="largest in-degree,R = 1 s,equation 2 s",
        comments="",
    )
    figure9 = []
    for replication in (*FACTORS, CUSTOM):
        took, _, mean = seconds(graph, replication, 1)
        figure9.append((str(replication), mean, sum(took)))
    rows = "".join(f"{name},{mean:.2f},{took:.6f}\n" for name, mean, took in figure9)
    (options.output / "figure9.csv").write_text("replication,mean factor,seconds\n" + rows)
    draw(figure8, figure9, options.output / "replication.png")
    gains, correlation = figure8[:, 1] / figure8[:, 2], np.corrcoef(figure8[:, 0], figure8[:, 1])[0, 1]
    best = min(took for _, _, took in figure9[:-1])
    print(f"{options.graph}, order {options.order}; paper's sk-2005 in brackets")
    print(f"largest over smallest page time without replication: {max(without) / min(without):.2f} [45.17]")
    print(f"correlation of time and largest in-degree: {correlation:.4f} [0.9853]")
    print(f"speed-up by equation 2: {gains.mean():.2f} on average, at most {gains.max():.2f} [4.84, 32.15]")
    print(f"equation 2 over the best fixed factor: {best / figure9[-1][2]:.2f} [1.73]")


if __name__ == "__main__":
    main()
