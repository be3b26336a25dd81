"""
A program of your own: Katz centrality
======================================

The characters of Les Misérables, ranked by a program of a few lines: ``x_v = 1 + alpha * sum of x_u`` over the
neighbours u of v. NetworkX computes the same from the same graph.
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

import garaph_py as gp


class Katz(gp.VertexProgram):
    alpha: float = 0.05
    value = np.float64
    sum = gp.add

    def init(self):
        return float(1)

    def gather(self, src):
        return src

    def apply(self, acc):
        return float(1) + self.alpha * acc

    def activate(self, new, old):
        return abs(new - old) > 1e-9


novel = nx.les_miserables_graph()
names, values = zip(*gp.run(Katz(), gp.from_networkx(novel)).top(12), strict=True)
reference = nx.katz_centrality_numpy(novel, alpha=0.05, normalized=False, weight=None)
assert np.allclose(values, [reference[name] for name in names])

plt.barh(names[::-1], values[::-1])
plt.show()
