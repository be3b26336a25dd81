"""
Long paths from disk
====================

Breadth-first search over a grid of streets in a directory on disk, opened with too little memory for its edges. The
search has over a thousand supersteps, each with a few hundred vertices. If it goes superstep by superstep
(``sync=True``), it reads the same pages of edges again and again. By default the run notices that, and follows all the
edges of a page that it can while the page is in memory.
"""

import tempfile

import matplotlib.pyplot as plt
import numpy as np

import garaph_py as gp

SIDE = 600
corner = np.arange(SIDE * SIDE).reshape(SIDE, SIDE)
west, east = corner[:, :-1].ravel(), corner[:, 1:].ravel()
north, south = corner[:-1].ravel(), corner[1:].ravel()
streets = gp.from_edges(np.concatenate([west, north]), np.concatenate([east, south]), directed=False)

fig, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
with tempfile.TemporaryDirectory() as folder:
    gp.save(streets, folder + "/streets", encoding="raw")
    graph = gp.open(folder + "/streets", memory="16MiB")
    print(graph, "on disk" if graph.on_disk else "in memory")
    for label, sync in (("by supersteps", True), ("as the run chooses", None)):
        result = gp.run(gp.apps.BFS(source=0), graph, device="cpu", options=gp.Options(sync=sync))
        read = np.cumsum([one.from_disk for one in result.stats.iterations]) / 1e6
        ax.plot(np.arange(1, len(read) + 1), read, label=f"{label}: {result.stats.seconds:.1f} s")
        print(f"{label}: {len(read)} iterations, {read[-1]:,.0f} MB, the last level is {result.column('level').max()}")

ax.set(xlabel="iteration", ylabel="MB read from disk", xscale="log", yscale="log")
ax.legend()
plt.show()
