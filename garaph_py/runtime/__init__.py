"""One run from the call to its result."""
