"""CUDA C++ sources, one kernel a file; installed as ``garaph_py.kernels``."""
