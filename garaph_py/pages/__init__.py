"""Pages, the unit of dispatch, transfer and residency, and the page sources that read their edges."""
