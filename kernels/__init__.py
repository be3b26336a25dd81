"""CUDA C++ sources, one kernel a file. Installed as ``garaph_py.kernels``; found by `garaph_py.kernel_files`."""
