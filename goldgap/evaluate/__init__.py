"""Scores, intervals and kinds of errors."""
