"""
One graph from NetworkX, pandas and SciPy
=========================================

Davis's Southern women and the fourteen social events that they attended, as a NetworkX graph, as a table and as a
matrix. Each gives the same answer: who is near Evelyn on a random walk between women and events?
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

import garaph_py as gp

davis = nx.davis_southern_women_graph()
table = nx.to_pandas_edgelist(davis)
matrix, names = nx.to_scipy_sparse_array(davis), list(davis)

near = gp.apps.PenalizedHittingProbability(query="Evelyn Jefferson")
result = gp.run(near, gp.from_networkx(davis))
probability = result.to_dict()

from_table = gp.run(near, gp.from_pandas(table, directed=False, weight=False))
assert np.allclose(from_table.column(), [probability[v] for v in from_table.ids])

# A matrix has no names: its vertices are numbers.
by_number = gp.apps.PenalizedHittingProbability(query=names.index("Evelyn Jefferson"))
from_matrix = gp.run(by_number, gp.from_scipy(matrix, directed=False))
assert np.allclose(from_matrix.column(), [probability[v] for v in names])

# %%

women = davis.graph["top"]
places = nx.bipartite_layout(davis, women, aspect_ratio=1)
plt.figure(figsize=(7, 6), layout="constrained")
colours = np.log([probability[v] for v in davis])
nx.draw_networkx(davis, places, node_color=colours, cmap="YlOrRd", edge_color="silver", font_size=8)
plt.axis("off")
plt.show()
