"""Read and write corpora. Importing this registers every format that Corpus.read and stream know."""

from goldgap.core.corpus import Corpus, stream, write_stream
from goldgap.corpus import brat, conll, jsonl, pubtator, text

__all__ = ["Corpus", "brat", "conll", "jsonl", "pubtator", "stream", "text", "write_stream"]
