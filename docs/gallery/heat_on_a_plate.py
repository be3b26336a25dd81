"""
Heat on a plate
===============

A square plate is kept hot at its top edge and along a ring, and cold at its other edges. The picture shows the heat
after 200, 2,000 and 20,000 steps of time.
"""

import matplotlib.pyplot as plt
import numpy as np

import garaph_py as gp

side = 100
cell = np.arange(side * side).reshape(side, side)
sources = np.concatenate([cell[:, :-1].ravel(), cell[:-1].ravel()])
targets = np.concatenate([cell[:, 1:].ravel(), cell[1:].ravel()])
graph = gp.from_edges(sources, targets, directed=False)

y, x = np.mgrid[:side, :side]
fixed = np.full((side, side), np.nan)  # NaN: this cell's heat may change
fixed[-1, :] = fixed[:, 0] = fixed[:, -1] = 0
fixed[0, :] = fixed[np.abs(np.hypot(x - 60, y - 65) - 15) < 0.7] = 1

fig, axes = plt.subplots(1, 3, figsize=(9, 3.2), layout="constrained")
for ax, steps in zip(axes, (200, 2_000, 20_000), strict=True):
    program = gp.apps.HeatSimulation(fixed=fixed.ravel(), conductivity=0.2)
    result = gp.run(program, graph, iterations=steps)
    ax.imshow(result.column().reshape(side, side), cmap="inferno", vmin=0, vmax=1)
    ax.set_title(f"{len(result.stats.iterations):,} steps")
    ax.axis("off")
plt.show()
