"""
Requests to host memory
=======================

A GPU that reads edge lists in the host's memory makes requests of 32 to 128 bytes. Large ones use the link better, so
EMOGI has a warp read a list (*Merged*) from a multiple of 128 bytes on (*+Aligned*). This counts the requests that a
search over the dependencies of Debian's packages would make, as in EMOGI's Figure 5. It needs no GPU: the requests
follow from where the lists begin and end.
"""

import matplotlib.pyplot as plt

import garaph_py as gp
from garaph_py.executor.gpu.requests import count_requests

graph = gp.read("data/debian-sid-deps.tsv.xz").symmetrized()
found = gp.run(gp.apps.BFS(source="libc6"), graph).column("level") >= 0
ends = graph.out_degrees.cumsum()
begins = ends - graph.out_degrees

fig, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
ways = {
    "Naive": gp.Emogi(merge=False),
    "Merged": gp.Emogi(align=False, split=False),
    "+Aligned": gp.Emogi(split=False),
}
counts = {name: count_requests(begins[found], ends[found], way.lists) for name, way in ways.items()}
left = dict.fromkeys(ways, 0)
for size in (32, 64, 96, 128):
    thousands = [count[size] / 1000 for count in counts.values()]
    ax.barh(list(ways), thousands, left=list(left.values()), label=f"{size} bytes")
    left = {name: left[name] + more for name, more in zip(left, thousands, strict=True)}

ax.invert_yaxis()
ax.set(xlabel="requests, thousands")
ax.legend()
plt.show()
