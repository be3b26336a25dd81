"""Times of single pages on a GPU, as in Garaph's Figures 8 and 9: computation of PageRank only."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..apps.pagerank import PageRank
from ..executor.gpu import device as devices
from ..executor.gpu.executor import GpuExecutor
from ..executor.gpu.gather import REPLICATED
from ..executor.gpu.settings import Settings
from ..executor.modes import PULL
from ..graph import Graph
from ..program import bind

SLACK = 500
"""A page may have a part of all edges more than an equal share, so that the last page is not a small rest: one in this
many. Pages end between vertices."""
FIXED = "fixed"
"""What a row calls its replication factors if they are the same everywhere."""

Row = dict[str, Any]


def measure(
    graph: Graph, replication: int | str, pages: int, all_vertices: bool, work_items: bool
) -> tuple[Row, list[Row]]:
    """Process each of `pages` pages of PageRank on the GPU, all of them in its memory, with these replication factors.

    With `all_vertices`, those of a shard without in-edges count too, as in the paper. With `work_items`, shards of many
    edges are divided among blocks, which the paper does not do.
    Returns a row for all pages, whose seconds are the sum of theirs, and a row for each.
    """
    bound = bind(PageRank(dtype=np.float32, stop="never", weighted=False), graph)
    page_edges = graph.m // pages + graph.m // SLACK * (pages > 1)
    device = devices.find()
    settings = Settings(
        gather=REPLICATED, replication=replication, all_vertices=all_vertices, work_items=work_items,
        page_edges=page_edges,
    )  # fmt: skip
    executor = GpuExecutor(bound, graph, device, settings)
    try:
        state = executor.initialize(True)
        executor.begin(state, PULL)  # an iteration, after which all pages are there, and compiled for
        executor.process(executor.residency.pages, executor.source, state, PULL)
        executor.commit(state, PULL)
        rows = [page_row(executor, device, graph, page) for page in executor.residency.pages]
        mean = executor.gather.mean_factor()
    finally:
        executor.close()
    took = [row["seconds"] for row in rows]
    total = {
        "seconds": sum(took), "slowest_page_over_fastest": max(took) / min(took), "mean_factor": mean,
        "factors": FIXED if str(replication).isdigit() else str(replication),
        "pages_made": len(rows), "vertices": graph.n, "graph_edges": graph.m,
    }  # fmt: skip
    return total, rows


def page_row(executor: Any, device: Any, graph: Graph, page: Any) -> Row:
    """The seconds of one page's kernel, launched once before it is timed, and what the page has."""
    task = executor.task_of(page, executor.streams.buffers.staying[page.number])
    stream = executor.streams.compute[0]
    with device:
        executor.gather.launch(page, task, stream)
        seconds = devices.seconds(device.driver, stream, lambda: executor.gather.launch(page, task, stream))
    largest = graph.in_degrees[page.first_vertex : page.last_vertex].max()
    return {"page": page.number, "seconds": seconds, "page_edges": page.edges, "largest_in_degree": int(largest)}
