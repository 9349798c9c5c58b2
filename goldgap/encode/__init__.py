"""Documents to tensors: pieces of words, windows, batches, encoders."""
