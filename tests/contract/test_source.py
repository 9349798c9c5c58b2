"""What holds for the package as a whole: who imports whom, what is never called, what is public, what is repeatable."""

from __future__ import annotations

import ast
import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

import goldgap
from goldgap.cli import app
from goldgap.demo import DEV, DICTIONARY, TEST, TRAIN

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "goldgap"

# (a) Imports point one way along the flow

_DATA = {"core", "corpus", "distant"}
_TENSORS = {*_DATA, "encode"}
_SCORES = {*_TENSORS, "models", "unknown", "losses", "decode"}
_RUNS = {*_SCORES, "train", "recognizer", "evaluate"}

MAY_IMPORT: dict[str, set[str]] = {
    "core": set(),
    "corpus": {"core"},
    "distant": {"core", "corpus"},
    "encode": _DATA,
    "unknown": {*_TENSORS, "losses"},  # never a model: each policy and loss is testable on a 3x3 tensor
    "losses": {*_TENSORS, "unknown"},
    "models": _SCORES,
    "decode": _SCORES,
    "evaluate": _DATA,
    "train": _RUNS,
    "recognizer": {*_RUNS, "report"},  # a model writes its card
    "demo": set(),
    "report": {*_RUNS, "demo"} - {"recognizer"},  # from what it is given, so that a model can call it
    "compare": _RUNS,
    "diagnose": {*_RUNS, "compare", "report"},  # a diagnosis comes with its picture
    "cli": {*_RUNS, "compare", "demo", "diagnose", "report", "goldgap"},
    "__main__": {"cli"},
}


def wrong_imports(package: Path) -> list[str]:
    """Every import against the flow, inside functions too; `from goldgap import X` counts by where X lives."""
    homes = _homes_of_public_names(package / "__init__.py")
    found = []
    for file in sorted(package.rglob("*.py")):
        place = file.relative_to(package).with_suffix("").parts
        if place == ("__init__",):
            continue
        if place[0] not in MAY_IMPORT:
            found.append(f"{file.relative_to(package)}: {place[0]} has no place in the flow; give it one in MAY_IMPORT")
            continue
        for line, target in _imports(file, package, homes):
            if target != place[0] and target not in MAY_IMPORT[place[0]]:
                found.append(f"{file.relative_to(package)}:{line}: {place[0]} imports {target}")
    return found


def _homes_of_public_names(face: Path) -> dict[str, str]:
    for node in ast.parse(face.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "_HOME":
            return dict(ast.literal_eval(node.value))
    raise AssertionError(f"{face} has no _HOME that says where the public names live")


def _imports(file: Path, package: Path, homes: dict[str, str]) -> Iterator[tuple[int, str]]:
    """Line and part of the package ("core", "decode") of every import of the package in a file."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(node, file, package)
            names = [
                homes.get(alias.name, f"{base}.{alias.name}") if base == package.name else base for alias in node.names
            ]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "__import__")):
            names = [str(value.value) for value in node.args if isinstance(value, ast.Constant)]
        else:
            continue
        for name in names:
            head, _, rest = name.partition(".")
            if head == package.name and not rest.startswith("__"):  # goldgap.__version__ and its like live nowhere
                yield node.lineno, rest.partition(".")[0] or package.name


def _absolute(node: ast.ImportFrom, file: Path, package: Path) -> str:
    if not node.level:
        return node.module or ""
    folder = file.parent.relative_to(package.parent).parts
    return ".".join([*folder[: len(folder) - node.level + 1], *([node.module] if node.module else [])])


def test_imports_point_one_way_along_the_flow() -> None:
    assert wrong_imports(PACKAGE) == []


WRONG_IMPORTS = {
    "from": ("core/a.py", "from goldgap.corpus.conll import x", "core imports corpus"),
    "plain": ("corpus/a.py", "import goldgap.distant.mask", "corpus imports distant"),
    "second of a line": ("corpus/a.py", "import os, goldgap.distant", "corpus imports distant"),
    "inside a function": ("core/a.py", "def f():\n    from goldgap.distant import mask", "core imports distant"),
    "for types only": ("core/a.py", "if TYPE_CHECKING:\n    from goldgap.cli import app", "core imports cli"),
    "submodule of the face": ("distant/a.py", "from goldgap import train", "distant imports train"),
    "public name": ("corpus/a.py", "from goldgap import Dictionary", "corpus imports distant"),
    "the face as a whole": ("evaluate/a.py", "import goldgap", "evaluate imports goldgap"),
    "relative": ("core/a.py", "from ..corpus import conll", "core imports corpus"),
    "relative from the package": ("core/deep/a.py", "from ... import corpus", "core imports corpus"),
    "by a string": ("core/a.py", "importlib.import_module('goldgap.cli')", "core imports cli"),
    "policy and model": ("unknown/a.py", "from goldgap.models.span import x", "unknown imports models"),
    "loss and model": ("losses/a.py", "from goldgap.models.span import x", "losses imports models"),
    "evaluation and encoder": ("evaluate/a.py", "from goldgap.encode import x", "evaluate imports encode"),
    "report and command line": ("report/a.py", "from goldgap.cli import x", "report imports cli"),
    "comparison and diagnosis": ("compare/a.py", "from goldgap.diagnose import x", "compare imports diagnose"),
    "comparison and report": ("compare/a.py", "from goldgap.report import x", "compare imports report"),
    "report and recogniser": ("report/a.py", "from goldgap import Recognizer", "report imports recognizer"),
    "module beside the folders": ("decode.py", "from goldgap.train import x", "decode imports train"),
    "part nobody placed": ("mystery/a.py", "", "mystery has no place in the flow"),
}


@pytest.mark.parametrize(("file", "source", "expected"), WRONG_IMPORTS.values(), ids=WRONG_IMPORTS)
def test_an_import_against_the_flow_is_found(tmp_path: Path, file: str, source: str, expected: str) -> None:
    package = _made_up_package(tmp_path, file, source)
    assert [expected in found for found in wrong_imports(package)] == [True]


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("distant/a.py", "from goldgap.core.document import Document"),
        ("distant/a.py", "from goldgap import Corpus, __version__"),
        ("core/a.py", "import numpy\nfrom goldgap.core import files\nfrom . import files\nfrom .files import x"),
        ("train/a.py", "from goldgap.evaluate import x\nfrom goldgap.decode import y"),
        ("recognizer.py", "from goldgap.report import x"),
        ("diagnose/a.py", "from goldgap.compare import x\nfrom goldgap.report import y"),
        ("cli/a.py", "import goldgap\nfrom goldgap.report import x"),
    ],
)
def test_an_import_along_the_flow_is_accepted(tmp_path: Path, file: str, source: str) -> None:
    assert wrong_imports(_made_up_package(tmp_path, file, source)) == []


def _made_up_package(place: Path, file: str, source: str) -> Path:
    package = place / "goldgap"
    (package / file).parent.mkdir(parents=True)
    (package / "__init__.py").write_text(
        "from goldgap.cli import x\n_HOME = {'Corpus': 'goldgap.corpus', 'Dictionary': 'goldgap.distant.dictionary', "
        "'Recognizer': 'goldgap.recognizer'}\n"
    )
    (package / file).write_text(source)
    return package


# (b) What is never called

FORBIDDEN = re.compile(
    r"pickle(?!=False)|\b(?:dill|marshal|shelve)\b|torch\.load\b|(?<![\w.])(?:eval|exec)\(|yaml\.(?:unsafe_)?load\b"
    r"|shell=True|trust_remote_code=(?!False)|os\.system\b"
)


def forbidden_lines(package: Path) -> list[str]:
    """Code, not comments or docstrings, that could run what a file or a person brings along."""
    found = []
    for file in sorted(package.rglob("*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
                node.body[0] = ast.Pass()
        lines = ast.unparse(tree).splitlines()
        found += [f"{file.relative_to(package)}: {line.strip()}" for line in lines if FORBIDDEN.search(line)]
    return found


def test_nothing_runs_code_from_files() -> None:
    assert forbidden_lines(PACKAGE) == []


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "from pickle import loads",
        "np.load(f, allow_pickle=True)",
        "torch.load(f, weights_only=True)",
        "eval('1')",
        "x = exec ( code )",
        "yaml.load(f)",
        "subprocess.run(c, shell = True)",
        "AutoModel.from_pretrained(n, trust_remote_code=True)",
        "import_module('pickle')",
    ],
)
def test_code_that_could_run_code_from_files_is_found(tmp_path: Path, source: str) -> None:
    (tmp_path / "a.py").write_text(f'"""Never pickle."""\n{source}\n')
    assert len(forbidden_lines(tmp_path)) == 1


@pytest.mark.parametrize(
    "source", ["model.eval()", "# pickle", "inspect.signature(f, eval_str=True)", "np.load(f, allow_pickle=False)"]
)
def test_harmless_code_is_not_mistaken_for_it(tmp_path: Path, source: str) -> None:
    (tmp_path / "a.py").write_text(f'def f():\n    """Never pickle."""\n    {source}\n    return 1\n')
    assert forbidden_lines(tmp_path) == []


# (c) The base install carries no heavy library

HEAVY = ("torch", "transformers", "pandas", "spacy", "sklearn", "scipy")
WATCHED = """
import json, sys
class Watch:
    def find_spec(self, name, path=None, target=None):
        if name in {heavy!r}:
            asked.append(name)
asked = []
sys.meta_path.insert(0, Watch())
try:
    {code}
finally:
    open({report!r}, "w").write(json.dumps(asked))
"""
COMMANDS: dict[str, list[str]] = {
    "help": ["--help"],
    "annotate": ["annotate", str(TRAIN), "-d", str(DICTIONARY), "-o", "labels.jsonl", "--gold", str(TRAIN)],
    "check": ["check", str(TRAIN), str(DEV), str(TEST), "--dictionary", str(DICTIONARY)],
    "convert": ["convert", str(TEST), "test.conll"],
    "mask": ["mask", str(TRAIN), "-o", "masked.jsonl", "--drop", "0.5"],
    "evaluate": ["evaluate", str(TEST), str(TEST), "--json", "--html", "report.html", "--train", str(TRAIN)],
    "methods": ["methods"],
}


def run(code: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run code in a fresh process that imports this very package."""
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def command_line(arguments: list[str]) -> str:
    return f"import sys; sys.argv = {['goldgap', *arguments]!r}; from goldgap.cli import main; main()"


def heavy_imports(code: str, folder: Path, **environment: str) -> list[str]:
    """The heavy libraries that the code asked for, installed or not."""
    report = folder / "asked.json"
    done = run(WATCHED.format(heavy=HEAVY, code=code, report=str(report)), folder, **environment)
    assert done.returncode == 0, done.stderr
    return list(json.loads(report.read_text()))


@pytest.mark.parametrize(
    "name",
    [
        "help",
        "convert",
        "mask",
        "evaluate",
        "methods",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("annotate", "check")),
    ],
)
def test_a_command_of_the_base_install_asks_for_no_heavy_library(tmp_path: Path, name: str) -> None:
    assert heavy_imports(command_line(COMMANDS[name]), tmp_path) == []


@pytest.mark.parametrize("name", HEAVY)
def test_an_import_of_a_heavy_library_is_found(tmp_path: Path, name: str) -> None:
    (tmp_path / f"{name}.py").touch()  # stands for the library, so that the test need not wait for it
    assert heavy_imports(f"import {name}", tmp_path, PYTHONPATH=str(tmp_path)) == [name]


# (d) The public interface

PUBLIC = ["Corpus", "Dictionary", "Document", "Entity", "Recognizer", "Rejected"]
READING = (
    "--format --join --label-column --on-error --rule --scheme --separator --strict --token-column"  # of every reader
)
INTERFACE: dict[str, str] = {
    "annotate": "TEXT --dictionary -d --output -o --gold --case --ambiguous --overlapping --phrases --plurals "
    f"{READING}",
    "check": f"CORPUS OTHERS --dictionary -d --json {READING}",
    "compare": "--train --complete --dev --test --output -o --name --methods --seeds --baseline --drop --grid "
    f"--encoder --epochs --set --runs --jobs {READING}",
    "convert": f"IN OUT --to --to-scheme {READING}",
    "demo": "--output -o --epochs",
    "datasets": "NAME --data",
    "diagnose": "",
    "diagnose sparsity": f"CORPUS --output -o --json {READING}",
    "diagnose guarantee": f"CORPUS --ratio --width --epochs --output -o --json {READING}",
    "diagnose missampling": f"CORPUS --drop --seeds --ratio --width --epochs --output -o --json {READING}",
    "diagnose negatives": "RUN... --output -o --json",
    "diagnose epochs": "RUN... --output -o --json",
    "diagnose fit": "RECORD --output -o --json",
    "diagnose traces": f"SPANS RECORD... --output -o --json {READING}",
    "diagnose selection": "RUN... --output -o --json",
    "diagnose similarity": f"GOLD MODEL --type --output -o --json {READING}",
    "diagnose doubts": f"CORPUS --method --epochs --set --output -o --json {READING}",
    "diagnose detection": f"CORPUS --method --epochs --set --output -o --json {READING}",
    "diagnose threshold": f"GOLD PREDICTIONS|MODEL --output -o --json {READING}",
    "evaluate": f"GOLD PREDICTIONS|MODEL --against --device --html --json --samples --seed --train {READING}",
    "mask": f"CORPUS --output -o --drop --by --mode --seed {READING}",
    "methods": "--json",
    "predict": f"MODEL INPUT --output -o --min-prob --type --device {READING}",
    "reproduce": "NAME --data --experiments --runs --seeds --full --encoder --set --output -o --jobs",
    "suspects": f"MODEL CORPUS --output -o --min-prob --device {READING}",
    "train": "--train --complete --dev --output -o --method --encoder --epochs --seed --device --set --recipe --types "
    f"--resume --html --record --follow {READING}",
}


def test_the_public_names_are_the_stored_ones() -> None:
    assert sorted(goldgap.__all__) == PUBLIC


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_can_be_imported(name: str) -> None:
    assert getattr(goldgap, name).__name__ == name


def test_a_name_that_is_not_public_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'goldgap' has no attribute 'Corpsu'"):
        goldgap.Corpsu  # noqa: B018


def _commands() -> dict[str, Any]:
    group: Any = typer.main.get_command(app)  # of click, or of the copy of it inside typer: not a type of ours
    inner = {
        f"{name} {own}": command
        for name, one in group.commands.items()
        for own, command in getattr(one, "commands", {}).items()
    }
    return {**group.commands, **inner}


def test_the_commands_are_the_stored_ones() -> None:
    assert sorted(_commands()) == sorted(INTERFACE)


@pytest.mark.parametrize("name", INTERFACE)
def test_the_arguments_and_options_of_a_command_are_the_stored_ones(name: str) -> None:
    found: list[str] = []
    for parameter in _commands()[name].params:
        if parameter.param_type_name == "option":
            found += [*parameter.opts, *parameter.secondary_opts]
        else:
            found.append(parameter.metavar or parameter.name.upper())
    assert sorted(found) == sorted(INTERFACE[name].split())


# (e) No function is longer than a person can hold in mind

LONGEST = 60


def long_functions(package: Path) -> list[str]:
    """Functions of more lines than that, by file and name."""
    found = []
    for file in sorted(package.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and (node.end_lineno or 0) - node.lineno >= LONGEST:
                found.append(f"{file.relative_to(package)}: {node.name}")
    return found


def test_no_function_is_long() -> None:
    assert long_functions(PACKAGE) == []


@pytest.mark.parametrize(("lines", "found"), [(LONGEST, []), (LONGEST + 1, ["a.py: f"])])
def test_a_long_function_is_found(tmp_path: Path, lines: int, found: list[str]) -> None:
    (tmp_path / "a.py").write_text("def f():\n" + "    1\n" * (lines - 1))
    assert long_functions(tmp_path) == found


# (f) Same seed, same bytes


def written(arguments: list[str], folder: Path, hash_seed: int) -> bytes:
    """What a command writes to the file `out.jsonl`, in a process of its own."""
    folder.mkdir()
    done = run(command_line([*arguments, "-o", "out.jsonl"]), folder, PYTHONHASHSEED=str(hash_seed))
    assert done.returncode == 0, done.stderr
    return (folder / "out.jsonl").read_bytes()


@pytest.mark.parametrize(
    "arguments",
    [
        ["mask", str(TRAIN), "--drop", "0.5", "--by", "mention"],
        ["mask", str(TRAIN), "--drop", "0.5", "--by", "surface"],
        ["mask", str(TRAIN), "--drop", "0.5", "--by", "type"],
        pytest.param(
            ["annotate", str(TRAIN), "-d", str(DICTIONARY), "--ambiguous", "all", "--overlapping"],
            marks=pytest.mark.slow,
        ),
    ],
    ids=["mask by mention", "mask by surface", "mask by type", "annotate"],
)
def test_the_same_seed_gives_the_same_bytes_in_every_process_and_folder(tmp_path: Path, arguments: list[str]) -> None:
    assert written(arguments, tmp_path / "here", 1) == written(arguments, tmp_path / "there", 2)


@pytest.mark.parametrize("by", ["mention", "surface"])
def test_another_seed_gives_other_bytes(tmp_path: Path, by: str) -> None:
    arguments = ["mask", str(TRAIN), "--drop", "0.5", "--by", by, "--seed"]
    assert written([*arguments, "0"], tmp_path / "zero", 1) != written([*arguments, "1"], tmp_path / "one", 1)


# The suite itself stays off the network


@pytest.mark.parametrize("address", ["192.0.2.1", "8.8.8.8"])
def test_a_connection_out_of_this_machine_is_refused(address: str) -> None:
    with socket.socket() as endpoint, pytest.raises(RuntimeError, match="tests run without a network"):
        endpoint.connect((address, 80))


def test_a_packet_out_of_this_machine_is_refused() -> None:
    with (
        socket.socket(type=socket.SOCK_DGRAM) as endpoint,
        pytest.raises(RuntimeError, match="tests run without a network"),
    ):
        endpoint.sendto(b"x", ("192.0.2.1", 53))


def test_asking_for_a_name_out_of_this_machine_is_refused() -> None:
    with pytest.raises(RuntimeError, match="tests run without a network"):
        socket.getaddrinfo("example.org", 80)


def test_a_connection_within_this_machine_is_allowed() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as endpoint:
        assert endpoint.getpeername() == server.getsockname()


def test_a_connection_through_a_file_is_allowed(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as endpoint:
        server.bind(os.path.relpath(tmp_path / "s"))
        server.listen()
        endpoint.connect(os.path.relpath(tmp_path / "s"))


def test_the_hub_is_told_to_stay_offline() -> None:
    assert os.environ["HF_HUB_OFFLINE"] == "1"
