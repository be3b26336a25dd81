"""
A graph that does not fit
=========================

A graph of sixteen million edges in a directory on disk, opened with half the memory that the edges take. In every
iteration, PageRank reads the edges that do not stay in memory. Breadth-first search reads only what its active vertices
need. ``gp.plan`` says in advance what stays in memory and what a run reads.
"""

import tempfile

import matplotlib.pyplot as plt

import garaph_py as gp

programs = [gp.apps.PageRank(stop="never"), gp.apps.BFS(source=0)]

fig, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
with tempfile.TemporaryDirectory() as folder:
    gp.save(gp.rmat(19, directed=False, permute=False), folder + "/graph")
    graph = gp.open(folder + "/graph", memory="36MiB")
    print(graph, "on disk" if graph.on_disk else "in memory")
    for program in programs:
        print(gp.plan(program, graph, iterations=10))
        result = gp.run(program, graph, iterations=10)
        megabytes = [one.from_disk / 1e6 for one in result.stats.iterations]
        ax.plot(megabytes, marker="o", label=f"{result.program}: {result.stats.seconds:.1f} s")

ax.set(xlabel="iteration", ylabel="MB read from disk", ylim=0)
ax.legend()
plt.show()
