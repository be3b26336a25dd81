"""
The way through a maze
======================

A maze of a million cells: the minimum spanning tree of a grid whose walls have random prices. Its cells are
vertices, its passages edges. Breadth-first search finds the distance of every cell from the one at the top left.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import minimum_spanning_tree

import garaph_py as gp

cell = np.arange(500 * 2000).reshape(500, 2000)
sources = np.concatenate([cell[:, :-1].ravel(), cell[:-1].ravel()])
targets = np.concatenate([cell[:, 1:].ravel(), cell[1:].ravel()])
prices = np.random.default_rng(7).random(len(sources)) + 1
grid = coo_array((prices, (sources, targets)), (cell.size, cell.size))
passages = minimum_spanning_tree(grid).tocoo()

graph = gp.from_edges(passages.row, passages.col, directed=False)
result = gp.run(gp.apps.BFS(source=0), graph)
distance = result.column("level").reshape(cell.shape)
print(f"The farthest cell is {distance.max():,} steps away; {1000 * result.stats.seconds:.0f} ms")

# %%

plt.figure(figsize=(10, 2.6), layout="constrained")
plt.imshow(distance, cmap="turbo")
plt.axis("off")
plt.show()
