"""docs/architecture.md shows the source tree as it is, and the tree stays one that a person can look through."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "streaming" / "logdirwatch"
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
MODULES_MAX = 20

FOLDERS = {init.parent.relative_to(PACKAGE).as_posix(): init.parent for init in PACKAGE.rglob("__init__.py")}
FOLDERS.pop(".")


def test_every_folder_has_one_line_and_every_line_a_folder():
    assert sorted(re.findall(r"^\| `([a-z_/]+)/` \|", PAGE, re.MULTILINE)) == sorted(FOLDERS)


@pytest.mark.parametrize("name", sorted(FOLDERS))
def test_a_folder_can_be_looked_through(name):
    modules = [path.stem for path in FOLDERS[name].glob("*.py") if path.stem != "__init__"]
    assert len(modules) <= MODULES_MAX, modules


def test_every_folder_with_code_is_a_package():
    folders = {path.parent for path in PACKAGE.rglob("*.py")}
    assert [str(folder) for folder in sorted(folders) if not (folder / "__init__.py").is_file()] == []


# What Spark itself writes (its checkpoints, the progress of its queries), and the configuration.
OTHER_JSON = {
    "config/environment.py",
    "jobs/checkpoint/unusable.py",
    "jobs/checkpoint/folder.py",
    "jobs/checkpoint/repair.py",
    "pipeline/watch.py",
}


def _decodes_json(path):
    """Tell whether a module decodes JSON by msgspec, json or pydantic, however it imports them."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    imported = {
        f"{node.module}.{alias.name}" for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    used = {ast.unparse(node) for node in nodes if isinstance(node, ast.Attribute)}
    decoders = r"(?:msgspec\.json\.(?:decode|Decoder)|json\.(?:loads?|JSONDecoder|decoder.*)|orjson.*|msgspec\.json)"
    return any(re.fullmatch(decoders, name) for name in used - {"msgspec.json"} | imported) or any(
        name.rsplit(".", 1)[-1] == "model_validate_json" for name in used
    )


def test_only_the_parser_decodes_json():
    decoding = {path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py") if _decodes_json(path)}
    assert {name for name in decoding if not name.startswith("parse/")} == OTHER_JSON
