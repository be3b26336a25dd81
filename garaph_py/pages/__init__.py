"""Pages: the unit of dispatch, transfer and residency; and the graph directory they are cut from."""
