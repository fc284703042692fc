"""Freed native memory goes back to the system, and no Java is given an option that it does not know."""

import ctypes

import psutil
import pytest

from logdirwatch.jobs import native_memory

MIB = 1 << 20


@pytest.fixture(autouse=True)
def _asked_anew():
    native_memory.java_options.cache_clear()
    yield
    native_memory.java_options.cache_clear()


def java_that(monkeypatch, folder, body):
    program = folder / "bin" / "java"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{body}\n")
    program.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(folder))


def test_a_java_that_knows_the_option_gets_it(monkeypatch, tmp_path):
    java_that(monkeypatch, tmp_path, f'echo "$@" > {tmp_path}/asked')
    assert native_memory.java_options().endswith("-XX:TrimNativeHeapInterval=60000")
    assert (tmp_path / "asked").read_text() == f"{native_memory.java_options()} -version\n"


def test_a_java_that_does_not_know_it_gets_none(monkeypatch, tmp_path):
    java_that(monkeypatch, tmp_path, "echo 'Unrecognized VM option' >&2; exit 1")
    assert native_memory.java_options() == ""


def test_without_java_there_is_none(monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert native_memory.java_options() == ""


def test_what_was_freed_goes_back():
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    libc.free.restype, libc.free.argtypes = None, [ctypes.c_void_p]
    process = psutil.Process()
    blocks = [libc.malloc(16_000) for _ in range(6_000)]
    for block in blocks:
        ctypes.memset(block, 1, 16_000)
    last = libc.malloc(64)  # the blocks before it cannot be returned by making the heap shorter
    for block in blocks:
        libc.free(block)
    before = process.memory_info().rss
    native_memory.give_back()
    assert before - process.memory_info().rss > 40 * MIB
    libc.free(last)


def test_another_c_library_is_left_alone(monkeypatch):
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())
    native_memory.give_back()
