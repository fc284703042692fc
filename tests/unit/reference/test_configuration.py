from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
import yaml
from pydantic import BaseModel

from logdirwatch.reference.configuration import description, reference_yaml
from logdirwatch.settings import Settings

COMMITTED = Path(__file__).parents[3] / "conf" / "reference.yaml"


def keys(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, str | None]]:
    for name, field in model.model_fields.items():
        yield f"{prefix}{name}", description(field)
        for part in (field.annotation, *get_args(field.annotation)):
            if isinstance(part, type) and issubclass(part, BaseModel):
                yield from keys(part, f"{prefix}{name}.")


@pytest.fixture(scope="module")
def reference():
    return reference_yaml(Settings)


def test_the_committed_reference_is_what_the_code_says(reference):
    assert COMMITTED.read_text(encoding="utf-8") == reference, (
        "run: .venv/bin/logdirwatch config reference > conf/reference.yaml"
    )


def test_the_reference_loads_to_the_defaults(reference):
    assert Settings(**yaml.safe_load(reference)) == Settings()


@pytest.mark.parametrize(("key", "meaning"), list(keys(Settings)), ids=lambda value: str(value)[:40])
def test_every_key_has_a_meaning_and_is_listed(reference, key, meaning):
    assert meaning, f"{key} has no description"
    assert f"{key.rsplit('.', 1)[-1]}:" in reference
