"""
A program of your own: k-cores
==============================

The k-core of a graph is what remains when vertices with fewer than k neighbours are removed again and again. A vertex's
value says whether the vertex remains; ``gather`` counts neighbours that do. Watch the packages thin out as k grows.
"""

import matplotlib.pyplot as plt
import numpy as np

import garaph_py as gp


class KCore(gp.VertexProgram):
    k: int

    value = np.int32
    sum = gp.add
    gathers = "both"

    def init(self):
        return 1

    def gather(self, src):
        return src

    def apply(self, old, acc):
        return 1 if old == 1 and acc >= self.k else 0


graph = gp.read("data/debian-sid-deps.tsv.xz", drop_self_loops=True).symmetrized()
sizes = {k: gp.run(KCore(k=k), graph).column().sum().item() for k in range(0, 40, 2)}
print(sizes)

plt.figure(figsize=(7, 4), layout="constrained")
plt.step(sizes.keys(), sizes.values())
plt.xlabel("k")
plt.ylabel("packages in the k-core")
plt.show()
