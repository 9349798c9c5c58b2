"""Read and write corpora. Importing this registers every format that Corpus.read knows."""

from goldgap.core.corpus import Corpus
from goldgap.corpus import brat, conll, jsonl, pubtator, text

__all__ = ["Corpus", "brat", "conll", "jsonl", "pubtator", "text"]
