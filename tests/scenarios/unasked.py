"""Runs a command for which no file system tells its size: ``statfs`` fails with EIO, as it does on some sick disks."""

import ctypes
import errno
import os
import platform
import struct
import sys

# The numbers of statfs and fstatfs (asm/unistd.h).
CALLS = {"x86_64": (137, 138), "aarch64": (43, 44)}
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
LOAD_NUMBER, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, FAIL = 0x7FFF0000, 0x00050000 | errno.EIO


class Program(ctypes.Structure):
    """A ``struct sock_fprog``."""

    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def refuse(calls: tuple[int, ...]) -> None:
    """Let these system calls fail from now on, in this process and all that it becomes (seccomp(2))."""
    jumps = [(JUMP_IF_EQUAL, len(calls) - place, 0, number) for place, number in enumerate(calls)]
    steps = [(LOAD_NUMBER, 0, 0, 0), *jumps, (RETURN, 0, 0, ALLOW), (RETURN, 0, 0, FAIL)]
    program = Program(len(steps), b"".join(struct.pack("HBBI", *step) for step in steps))
    libc = ctypes.CDLL(None, use_errno=True)
    for arguments in ((PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program))):
        if libc.prctl(*arguments) != 0:
            raise OSError(ctypes.get_errno(), "prctl")


if __name__ == "__main__":
    refuse(CALLS[platform.machine()])
    os.execvp(sys.argv[1], sys.argv[1:])
