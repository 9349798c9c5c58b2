"""Imported once by the process that all runs are forks of: what is slow at the first load of an encoder is done here.

One thread: a library's threads do not survive a fork, and waiting for them would be forever.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from transformers.utils import logging

from goldgap.encode.transformer import load_transformer
from tests.tiny import save_tiny_encoder

torch.set_num_threads(1)
logging.disable_progress_bar()
with TemporaryDirectory() as folder:
    load_transformer(str(save_tiny_encoder(Path(folder))))
