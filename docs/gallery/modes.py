"""
What the scheduler chose, and whether it was right
==================================================

Breadth-first search on a graph of a quarter of a million vertices, in a fixed mode and with the mode that the scheduler
chooses in each iteration. Few active vertices favour push; many favour pull.
"""

import matplotlib.pyplot as plt

import garaph_py as gp

graph = gp.rmat(18, directed=False, seed=1)
source = int(graph.out_degrees.argmax())

fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for mode in ("pull", "notify-pull", "push", "auto"):
    options = gp.Options(mode=mode, sync=True)
    runs = [gp.run(gp.apps.BFS(source=source), graph, options=options).stats for _ in range(3)]
    best = min(runs, key=lambda stats: stats.seconds)  # the first run of a mode compiles
    milliseconds = [1e3 * one.seconds for one in best.iterations]
    ax.plot(milliseconds, marker="o", label=f"{mode}: {sum(milliseconds):.1f} ms")
ax.set(xlabel="iteration", ylabel="ms", yscale="log", xticks=range(len(milliseconds)))
ax.legend()

for one in best.iterations:
    print(f"{one.number}  {one.active:>7,} active  {one.mode:12} {one.why}")
plt.show()
