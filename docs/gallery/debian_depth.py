"""
How deep dependencies reach
===========================

Breadth-first search from one Debian package: level 1 has the packages that it needs itself, level 2 those that the
packages of level 1 need, and so on. "Needs" includes what a package recommends or suggests.
"""

import matplotlib.pyplot as plt
import numpy as np

import garaph_py as gp

graph = gp.read("data/debian-sid-deps.tsv.xz")
fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for name in ("bash", "firefox", "libreoffice"):
    level = gp.run(gp.apps.BFS(source=name), graph, verify=True).column("level")
    ax.plot(np.bincount(level[level >= 0]), marker="o", label=f"{name}: {np.sum(level >= 0):,} packages")
ax.set(xlabel="level", ylabel="packages", title="Packages that are needed, by distance")
ax.legend()
plt.show()
