"""
The most needed Debian packages
===============================

PageRank over the packages of Debian unstable. An edge leads from a package to one that it needs, so the rank of a
package grows with the number and the rank of those that need it, directly or indirectly.
"""

import matplotlib.pyplot as plt

import garaph_py as gp

graph = gp.read("data/debian-sid-deps.tsv.xz")
result = gp.run(gp.apps.PageRank(), graph)
names, ranks = zip(*result.top(15), strict=True)
print(graph, result.stats, sep="\n")

# %%
# A few libraries hold most of the rank.

plt.figure(figsize=(7, 4.5), layout="constrained")
plt.barh(names[::-1], ranks[::-1])
plt.xlabel("PageRank")
plt.show()
