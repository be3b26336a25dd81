"""The GPU kernel. Importing this imports no GPU package: `device.find` does, when a GPU is asked for."""
