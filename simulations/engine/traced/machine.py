"""Machine code: compiled by LLVM for this processor, kept on disk, called without a copy.

The file of a program is named by a digest of its code, of the processor and of LLVM's version. It holds a
digest of itself and is put in place whole, so processes may write and read it side by side. Where no
folder can be written the code is kept in memory alone.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm

from entropy_theory.support.results import atomic_path
from simulations.engine.traced.program import NAME, Program

_LOCK = threading.Lock()
_LOADED: dict[str, tuple[Any, Callable[..., None]]] = {}
_POINTER, _WORD = ctypes.c_void_p, ctypes.c_int64
_SIGNATURE = ctypes.CFUNCTYPE(None, *[_POINTER] * 8, *[_WORD] * 8)
_MARK = 32


def function(program: Program) -> Callable[..., None]:
    """Return the function of eight addresses and eight integers that takes the steps of a program."""
    with _LOCK:
        if program.digest not in _LOADED:
            _LOADED[program.digest] = _load(program)
        return _LOADED[program.digest][1]


def cache_folder() -> Path:
    """The folder of machine code, in this user's cache."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "policy-entropy" / "steps"


def _load(program: Program) -> tuple[Any, Callable[..., None]]:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = _machine()
    identity = "\n".join((
        str(llvm.llvm_version_info), machine.triple, llvm.get_host_cpu_name(),
        llvm.get_host_cpu_features().flatten(), program.code))
    path = cache_folder() / (hashlib.sha256(identity.encode()).hexdigest()[:40] + ".o")
    code = _read(path)
    if code is None:
        code = _compile(program, machine)
        _write(path, code)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
    engine.add_object_file(llvm.object_file.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return engine, _SIGNATURE(engine.get_function_address(NAME))


def _machine() -> Any:
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=3, jit=True)


def _compile(program: Program, machine: Any) -> bytes:
    module = llvm.parse_assembly(program.code)
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    options.slp_vectorization = False
    options.loop_vectorization = program.lanes == 1  # (Else a loop's body holds vectors already.)
    passes = llvm.create_pass_builder(machine, options)
    passes.getModulePassManager().run(module, passes)
    code: bytes = machine.emit_object(module)
    return code


def _read(path: Path) -> bytes | None:
    try:
        found = path.read_bytes()
    except OSError:
        return None
    mark, code = found[:_MARK], found[_MARK:]
    return code if hashlib.sha256(code).digest() == mark else None


def _write(path: Path, code: bytes) -> None:
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with atomic_path(path) as temporary:
            temporary.write_bytes(hashlib.sha256(code).digest() + code)
