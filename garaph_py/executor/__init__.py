"""What carries out an iteration: on the CPU, on a GPU, or on both."""
