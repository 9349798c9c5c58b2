"""Tensors to scores."""
