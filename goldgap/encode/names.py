"""The encoders that are no directory and no name on the hub."""

MINILM, BILSTM, FLAT = "minilm", "bilstm", "flat"
LOOK_UP = (BILSTM, FLAT)
"""Those that look words up and have nothing pretrained but, perhaps, vectors."""
ENCODERS = (MINILM, *LOOK_UP)
