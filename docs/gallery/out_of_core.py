"""
A graph that does not fit
=========================

A graph of sixteen million edges in a directory on disk, opened with half the memory that they take. PageRank reads what
is not kept in every iteration. Breadth-first search reads only the pages in which a vertex may change. ``gp.plan`` says
beforehand what stays in memory and what is read.
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
