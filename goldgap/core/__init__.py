"""The values that everything speaks."""
