"""Executors: they carry out an iteration on the CPU, on a GPU, or on both."""
