"""Imports of more edges than memory holds.

- `import_.py`: decides between memory and out of core;
- `build.py`: the import out of core: scan, sort, write;
- `scan.py`, `numbering.py`: read the edges twice and number their vertices;
- `adjacency.py`, `sort.py`, `runs.py`, `spill.py`: edges as sort keys, the external sort, its temporary files;
- `drawn.py`, `passes.py`: sorts without a temporary file, and with a small one;
- `array_writer.py`: writes an array of the graph directory in the background.
"""
