"""Read and write corpora. Importing this registers every format."""

from goldgap.corpus import brat, conll, jsonl, pubtator, text

__all__ = ["brat", "conll", "jsonl", "pubtator", "text"]
