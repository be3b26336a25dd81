"""Connected components by union-find (Afforest; Sutton et al., IPDPS 2018): what the CPU and the GPU have in common.

Vertices are in trees: each has a parent, and a root is its own. To link an edge is to join the trees of its two ends.
First the first two edges of each vertex are linked. Then most vertices of most graphs are in one tree, and only the
edges of the others are linked: an edge between a vertex of this tree and another vertex is also in the other's list.
Pages that are streamed to a GPU are copied once, so the first edges in them are not linked before the others. Pages on
disk are read once, in batches; after each batch, the lists of vertices in the tree that is then the largest are no
longer read. In the end, the value of each vertex becomes the sum over its tree.
"""

from __future__ import annotations

import numpy as np

FIRST_EDGES = 2
"""Edges of each vertex that are linked first, as in Afforest: after two rounds, most vertices are in one tree."""
SAMPLE = 1024
"""Vertices among which the largest tree is looked for, as in GAP's implementation of Afforest."""
NO_VERTEX = np.uint32(0xFFFFFFFF)
"""No vertex: the root of the largest tree while none has been looked for, or the parent of a vertex without one."""
