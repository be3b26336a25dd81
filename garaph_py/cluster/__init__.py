"""The same program on a cluster: parts of a graph in the workers of Dask, which exchange values after a superstep."""
