"""The GPU executor. Importing this imports no GPU package; `device.find` imports them when a run asks for a GPU."""
