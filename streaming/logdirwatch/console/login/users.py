"""The users of the login: a file with one line per user, ``name:hash``, readable only by its owner."""

import os
import re
import secrets
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path

from werkzeug.security import check_password_hash, generate_password_hash

from logdirwatch.config.text_file import opened, text_of
from logdirwatch.console.settings import FEWEST_PASSWORD_CHARACTERS
from logdirwatch.errors import UserError

NAME = re.compile(r"[A-Za-z0-9._@+-]{1,64}")
MOST_CHARACTERS = 1_024
_HASH = re.compile(r"scrypt:\d{1,8}:\d{1,3}:\d{1,3}\$[A-Za-z0-9]{8,64}\$[0-9a-f]{128}")
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


class Users:
    """The users of a file, which is read for every check: a removed user is logged out at once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        # Unknown users are checked against this, so that the answer takes as long.
        self._decoy = generate_password_hash(secrets.token_hex())

    def hashes(self) -> dict[str, str]:
        """Return the hash of each user; raises UserError if the file cannot be read or others can read it."""
        return read(self._path)

    def hash_for(self, name: str, password: str) -> str | None:
        """Return the user's hash if the password is right, else None; the work is the same for every name."""
        known = self.hashes().get(name)
        is_right = check_password_hash(known or self._decoy, password)
        return known if is_right else None


def read(path: Path) -> dict[str, str]:
    """Return the hashes in a file by user; raises UserError, which never shows a line of the file."""
    try:
        with opened(path) as file:
            if _is_open_to_others(os.fstat(file.fileno())):
                raise UserError(f"users file {path}: others can read it; allow only its owner: chmod 600 {path}")
            return parse(text_of(file))
    except OSError as error:
        raise UserError(
            f"users file {path}: {error.strerror}; write it with: logdirwatch console add-user NAME"
        ) from None
    except ValueError as error:
        raise UserError(f"users file {path}: {error}") from None


def _is_open_to_others(found: os.stat_result) -> bool:
    """Tell whether others than the console can read or write the file.

    As PostgreSQL does with its keys: a file of root may be read by a group, for Kubernetes mounts secrets so; whoever
    is in that group was put there by root.
    """
    is_of_root = found.st_uid == 0 != os.geteuid()
    return bool(stat.S_IMODE(found.st_mode) & (_OTHERS - stat.S_IRGRP if is_of_root else _OTHERS))


def parse(text: str) -> dict[str, str]:
    """Return the hashes by user; raises ValueError with the number of an invalid line."""
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        name, _, hashed = line.strip().partition(":")
        if not NAME.fullmatch(name) or not _HASH.fullmatch(hashed) or name in found:
            raise ValueError(f"line {number} is not NAME:HASH of another user")
        found[name] = hashed
    return found


def add(path: Path, name: str, password: str) -> bool:
    """Write a user with a password to the file, mode 0600; return whether the user existed before.

    Raises UserError for an invalid name or password, or a file that cannot be written.
    """
    if not NAME.fullmatch(name):
        raise UserError("a user's name has 1 to 64 letters, digits and . _ @ + -", exit_code=2)
    if not FEWEST_PASSWORD_CHARACTERS <= len(password) <= MOST_CHARACTERS:
        raise UserError(f"a password has {FEWEST_PASSWORD_CHARACTERS} to {MOST_CHARACTERS} characters", exit_code=2)
    known = read(path) if path.exists() else {}
    _write(path.resolve(), {**known, name: generate_password_hash(password)})
    return name in known


def _write(path: Path, hashes: Mapping[str, str]) -> None:
    """Replace the file as a whole; ``mkstemp`` creates it with mode 0600."""
    text = "".join(f"{name}:{hashed}\n" for name, hashed in sorted(hashes.items()))
    try:
        handle, written = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(written).replace(path)
    except OSError as error:
        raise UserError(f"users file {path} cannot be written: {error.strerror}") from None
