"""The graph directory and its disks: how a graph is stored, and everything that writes or reads the files.

The graph directory as a whole:

- `directory.py`: `save`, `open`, `verify` and `info`;
- `manifest.py`: the manifest, a JSON file that describes the arrays;
- `edge_hashes.py`: the hashes by which in-edges and out-edges are compared;
- `restripe.py`: moves a graph's blocks to other disks;
- `fit.py`: decides, by memory, whether a graph is raw, packed or left on disk;
- `progress.py`: progress events.

Writing:

- `write.py`: makes a graph directory atomically and spreads blocks over the disks;
- `unfinished.py`: removes the directories that a killed process left;
- `encode.py`: a graph as arrays, and arrays as raw or packed blocks.

Reading:

- `files.py`: opens and locks directories and files;
- `blocks.py`: the block index, checksums and encodings; reads single blocks;
- `check.py`: checks the contents of arrays while they are read, with `lists.py`, which knows where lists begin;
- `keep.py`: arrays that are packed in memory while they are read;
- `reader.py`: reads ranges of an array that stays on disk, with `sectors.py`, which chooses the sectors to read;
- `disks.py`: a thread per disk that reads with direct I/O, by `aio.py` (Linux AIO);
- `vertex_range.py` and `stored_part.py`: the edges of some vertices, and of a part, without those of others.

Parts:

- `partition.py`: a directory with a graph directory for each part, and `partitioned_edges.py`, the graph's edges in it.
"""
