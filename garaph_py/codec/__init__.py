"""Edge arrays in few bits: the packed format, packing, and unpacking of what is not trusted."""
