"""CUDA C++ sources, one kernel per file; installed as ``garaph_py.kernels``."""
