"""What proves the answers of the algorithms, with NumPy and SciPy, and none of the algorithms' kernels.

A verifier takes the graph, the answer, and the arguments of the call, in which those that the caller left out have
their defaults. It raises `VerificationError`, or returns nothing. `garaph_py.check` calls it.
"""
