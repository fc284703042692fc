"""The modules below a package by their names: a rule or an action kind is found by the name of its file."""

import pkgutil
from collections.abc import Mapping
from importlib import import_module
from types import ModuleType


def modules_by_name(package: ModuleType) -> Mapping[str, ModuleType]:
    """Import every module below a package, in the order of their names, and return each by its last part."""
    found = pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    return {module.name.rpartition(".")[2]: import_module(module.name) for module in found}
