"""Change one line of the code at random, run the tests of its module, and count how many changes are noticed.

    python tests/mutations.py --count 100 --seed 0

A change that no test notices is shown with its place. The tests stop at the first failure; one that hangs has noticed.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
_VARIANTS = "tests/contract/test_variants.py"
MODULES = {
    "decode.py": ["tests/unit/test_decode.py", f"{_VARIANTS}::decoder"],
    "corpus/tags.py": ["tests/unit/test_tags.py", "tests/property/test_round_trips.py"],
    "evaluate/counts.py": ["tests/property/test_scores.py", "tests/unit/test_findings.py"],
    "evaluate/scores.py": ["tests/property/test_scores.py", "tests/unit/test_findings.py"],
    "unknown/*.py": ["tests/unit/test_unknown.py", "tests/unit/test_ask.py", f"{_VARIANTS}::olic"],
    "losses/*.py": [
        "tests/unit/test_losses.py",
        "tests/unit/test_contrastive.py",
        "tests/unit/test_chain.py",
        f"{_VARIANTS}::Loss",
    ],
    "train/checkpoint.py": [
        "tests/unit/test_checkpoint.py",
        "tests/slow/test_damage.py",
        "tests/slow/test_survival.py::wherever or resumed",
    ],
}
"""The tests of each module; behind `::` what the names of those in a larger file contain."""
LIMIT = 600
_SWAPS: dict[type, type] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.BitXor: ast.BitOr, ast.MatMult: ast.Mult, ast.Pow: ast.Mult,
}  # fmt: skip


class Change(NamedTuple):
    """A place in a file, by the number of the node in the walk, and what is done to it."""

    file: str
    node: int
    line: int
    what: str


def changes(file: str) -> Iterator[Change]:
    """Every change of a file that can be made."""
    tree = ast.parse((ROOT / "goldgap" / file).read_text(encoding="utf-8"))
    skipped = _without_effect(tree)
    for number, node in enumerate(ast.walk(tree)):
        if node not in skipped and (what := _what(node)):
            yield Change(file, number, getattr(node, "lineno", 0), what)


def _without_effect(tree: ast.Module) -> set[ast.AST]:
    """Types, kinds of dataclasses and messages: changing them changes nothing that runs, or only words."""
    roots: list[ast.AST] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            roots += [node.returns] if node.returns else []
        if isinstance(node, ast.ClassDef):
            roots += node.decorator_list
        if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation:
            roots.append(node.annotation)
        if isinstance(node, ast.JoinedStr | ast.Import | ast.ImportFrom):
            roots.append(node)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id[0].isupper():
            roots += [part for part in [node.value] if isinstance(part, ast.Subscript | ast.BinOp)]  # names of types
    return {inner for root in roots for inner in ast.walk(root)}


def _what(node: ast.AST) -> str:
    match node:
        case ast.Compare(ops=[op]) | ast.BoolOp(op=op) | ast.BinOp(op=op) if type(op) in _SWAPS:
            return f"{type(op).__name__} to {_SWAPS[type(op)].__name__}"
        case ast.UnaryOp():
            return f"no {type(node.op).__name__}"
        case ast.Constant(value=bool() | int() | float()):
            return f"another value than {node.value!r}"
        case ast.If() | ast.IfExp():
            return "the other branch"
        case ast.Return(value=ast.AST()):
            return "return None"
        case ast.Raise() | ast.AugAssign() | ast.Expr(value=ast.Call()):
            return "not done"
        case _:
            return ""


class _Apply(ast.NodeTransformer):
    def __init__(self, target: ast.AST) -> None:
        self.target = target

    def visit(self, node: ast.AST) -> ast.AST:
        if node is not self.target:
            return self.generic_visit(node)
        match node:
            case ast.Compare():
                node.ops = [_SWAPS[type(node.ops[0])]()]
            case ast.BoolOp() | ast.BinOp():
                node.op = _SWAPS[type(node.op)]()
            case ast.UnaryOp():
                return node.operand
            case ast.Constant(value=bool()):
                node.value = not node.value
            case ast.Constant():
                node.value = node.value + 1  # type: ignore[operator]
            case ast.If() | ast.IfExp():
                node.test = ast.UnaryOp(ast.Not(), node.test)
            case ast.Return():
                node.value = ast.Constant(None)
            case _:
                return ast.Pass()
        return node


def changed(change: Change) -> tuple[str, str]:
    """The text of the file after the change, and the line as it was."""
    text = (ROOT / "goldgap" / change.file).read_text(encoding="utf-8")
    tree = ast.parse(text)
    target = next(node for number, node in enumerate(ast.walk(tree)) if number == change.node)
    made = ast.fix_missing_locations(_Apply(target).visit(tree))
    return ast.unparse(made), text.splitlines()[change.line - 1].strip()


def noticed(copy: Path, tests: list[str]) -> bool:
    """Whether a test fails; each is run in a copy of this process, which has imported what is slow."""
    child = os.fork()
    if child == 0:
        signal.alarm(LIMIT)
        os.setsid()
        os.chdir(copy)
        sys.path.insert(0, str(copy))
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1)
        os.dup2(silent, 2)
        status = 0
        for test in tests:
            path, _, part = test.partition("::")
            chosen = ["-k", part] if part else []
            import pytest

            status = status or pytest.main(["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", path, *chosen])
        os._exit(int(status))
    return os.waitpid(child, 0)[1] != 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="modules whose pattern contains this")
    options = parser.parse_args()
    import torch

    torch.set_num_threads(1)  # threads do not survive a fork
    possible = [
        (change, tests)
        for pattern, tests in MODULES.items()
        if options.only in pattern
        for file in sorted((ROOT / "goldgap").glob(pattern))
        for change in changes(file.relative_to(ROOT / "goldgap").as_posix())
    ]
    drawn = random.Random(options.seed).sample(possible, min(options.count, len(possible)))
    caught = 0
    with TemporaryDirectory() as folder:
        copy = Path(folder)
        for part in ("goldgap", "tests"):
            shutil.copytree(ROOT / part, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", copy)
        sys.dont_write_bytecode = True
        for tests in {id(tests): tests for _, tests in drawn}.values():
            if noticed(copy, tests):
                raise SystemExit(f"some of these tests fail without any change: {' '.join(tests)}")
        for number, (change, tests) in enumerate(drawn, 1):
            started, file = time.monotonic(), copy / "goldgap" / change.file
            text, line = changed(change)
            file.write_text(text, encoding="utf-8")
            caught += (found := noticed(copy, tests))
            shutil.copy(ROOT / "goldgap" / change.file, file)
            word = "caught  " if found else "SURVIVED"
            place = f"{change.file}:{change.line}: {change.what}"
            print(f"{number:>3} {word} {time.monotonic() - started:5.1f} s  {place}  |  {line}", flush=True)
    print(f"{caught} of {len(drawn)} changes were noticed (seed {options.seed}, of {len(possible)} possible ones)")


if __name__ == "__main__":
    main()
