"""
A graph that does not fit
=========================

A graph of sixteen million edges in a directory on disk, opened with less and less memory. What does not fit is read
from disk in every iteration; the answer is the same.
"""

import tempfile

import matplotlib.pyplot as plt
import numpy as np

import garaph_py as gp

program = gp.apps.PageRank(stop="never")
with tempfile.TemporaryDirectory() as folder:
    gp.save(gp.rmat(19, directed=False, seed=1), folder + "/graph")
    read, ranks = {}, []
    for memory in ("128MiB", "48MiB", "40MiB", "32MiB", "24MiB"):
        graph = gp.open(folder + "/graph", memory=memory)
        result = gp.run(program, graph, iterations=5)
        ranks.append(result.column())
        read[memory] = sum(one.from_disk for one in result.stats.iterations) / 5e6
        print(f"{memory:>7}: {'on disk' if graph.on_disk else 'in memory'}, {result.stats.seconds:.2f} s")
assert all(np.allclose(ranks[0], other) for other in ranks)

plt.figure(figsize=(6, 3.5), layout="constrained")
plt.bar(read.keys(), read.values())
plt.xlabel("allowed memory")
plt.ylabel("MB read per iteration")
plt.show()
