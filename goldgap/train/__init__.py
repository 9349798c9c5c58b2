"""The training loop and its recipes."""
