"""The dispatcher: decisions, and the loop that carries them out."""
