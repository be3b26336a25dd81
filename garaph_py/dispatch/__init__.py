"""The dispatcher: the scheduler's decisions, and the loop that has the executor carry them out."""
