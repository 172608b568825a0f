"""A user's own Python by import path: an update rule, a reward function, a file of claims.

``my_rules.py:Thrifty`` is a name in a file, relative to the current directory.
``my_package.rules:Thrifty`` is a name in a module that Python finds (``python -m`` looks in the current
directory).

A file is a module by its place *and its contents*. An edited file is another module, so a notebook gets
what it has just written. Instances can be sent to other processes: these read the file by its absolute
place, and refuse another version of it. While a file is executed its folder is searched for what it
imports.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import os
import sys
import sysconfig
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from entropy_theory.support.imported_sources import imported_sources

PREFIX = "_user_file_"
"""How the names of users' modules begin; the digest of the contents, "_" and the place follow in hex."""
DIGITS = 16
"""Length of a digest, in hexadecimal digits."""
OURS = ("entropy_theory", "diagnosis", "simulations", "llm_bridge", "paper_figures", "policy_entropy")


def load(path: str, kind: str, noun: str, fits: Callable[[Any], bool]) -> Any:
    """Load the object that an import path names.

    Args:
        path: ``file.py:name`` or ``module:name``.
        kind: the kind of object, such as "reward function".
        noun: a short word for ``kind``.
        fits: tells whether a value of the module is of this kind.

    Raises:
        ValueError: no such file or module, an error while importing it, no such name in it, or a name of
            something else; the message lists what would fit.
    """
    place, _, name = path.rpartition(":")
    try:
        module = _module(place)
    except ValueError as error:
        raise ValueError(f"{kind} '{path}': {error}") from error
    value = getattr(module, name, None)
    if fits(value):
        return value
    known = [key for key, other in vars(module).items()
             if fits(other) and key[0] != "_" and getattr(other, "__module__", "") == module.__name__]
    what = f"'{name}' of '{place}' is not a {noun}" if value is not None else (
        f"'{place}' has no {noun} '{name}'")
    raise ValueError(f"{kind} '{path}': {what}; it has {', '.join(sorted(known)) or 'none'}")


def module_of_file(path: str | Path) -> ModuleType:
    """Load a Python file as a module; a file is executed once for each version of its contents.

    Raises:
        ValueError: no such file, or an error while importing it.
    """
    try:
        file = Path(path).expanduser().resolve()
    except (OSError, RuntimeError) as error:  # links that lead in a circle, a user who is not there
        raise ValueError(f"cannot read {path} ({error}): check its path") from None
    if not file.is_file():
        raise ValueError(f"no such file: {path}, looked for in {file.parent}: check its path")
    if file.suffix != ".py":
        raise ValueError(f"{path} is not a Python file: name it *.py")
    name = f"{PREFIX}{_digest_of(file.read_bytes())}_{os.fsencode(file).hex()}"
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:  # a script's own sys.exit(0) is no verdict
        raise ValueError(f"{path} cannot be imported ({type(error).__name__}: {error})") from error


def name_of(kind: Any) -> str:
    """Name a class or function: ``module.name``, or ``file.py:name@digest`` where a user wrote it.

    The digest is that of `digest`.
    """
    if kind.__module__.partition(".")[0] in OURS:
        return f"{kind.__module__}.{kind.__qualname__}"
    return f"{_label(kind)}@{digest(kind)}"


def digests(*values: Any) -> dict[str, str]:
    """Return the digests of everything in these values that a user wrote, by ``file.py:name``.

    The values are searched for functions, and for dataclasses with all that their fields hold.
    """
    return {_label(kind): digest(kind) for value in values for kind in _written_by_users(value)}


@functools.cache
def digest(kind: Any) -> str:
    """Return a digest of the user's files that a class or function depends on.

    These are its own file and those of its bases, each with the user's files that it imports, from its
    package or from beside it. Each file is read at the first call only: a file that is edited while the
    process runs is not the code that runs.
    """
    contents = []
    for part in inspect.getmro(kind) if isinstance(kind, type) else (kind,):
        module = part.__module__
        if module == "builtins" or module.partition(".")[0] in OURS:
            continue
        file = getattr(sys.modules.get(module), "__file__", None)
        if file is None:
            contents.append(module)
            continue
        found = imported_sources(module, Path(file), _surroundings(module, Path(file)))
        read = {name: _digest_of(path.read_bytes()) for name, path in sorted(found.items())}
        own = read.pop(module)
        # A file goes by what it was when it was executed, wherever it lies.
        contents.append(module.removeprefix(PREFIX)[:DIGITS] if module.startswith(PREFIX) else own)
        contents += [f"{name}@{version}" for name, version in read.items()]
    return _digest_of(" ".join(dict.fromkeys(contents)).encode())


def _surroundings(module: str, file: Path) -> dict[str, Path]:
    """The names of a user's own modules that a module may import, and where they lie."""
    package, _, inner = module.partition(".")
    if inner or file.name == "__init__.py":
        return {package: Path(sys.modules[package].__path__[0])}
    if str(file.parent) in sysconfig.get_paths().values():  # Python's own and what was installed
        return {}
    beside = [path.with_suffix("") for path in file.parent.iterdir()
              if path.suffix == ".py" or path.is_dir()]
    return {place.name: place for place in beside if place.name not in OURS}


def _digest_of(source: bytes) -> str:
    return hashlib.sha256(source).hexdigest()[:DIGITS]


def _label(kind: Any) -> str:
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    return f"{Path(file).name if file else kind.__module__}:{kind.__qualname__}"


def _written_by_users(value: Any) -> Iterator[Any]:
    if dataclasses.is_dataclass(value):
        kind = type(value)
        if kind.__module__.partition(".")[0] not in OURS:
            yield kind
        for field in dataclasses.fields(value):
            yield from _written_by_users(getattr(value, field.name))
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _written_by_users(item)
    elif inspect.isfunction(value) and value.__module__.partition(".")[0] not in OURS:
        yield value


def _module(place: str) -> ModuleType:
    if place.endswith(".py") or os.sep in place:
        return module_of_file(place)
    file = Path.cwd() / f"{place.replace('.', os.sep)}.py"
    try:
        module = importlib.import_module(place)
        if file.is_file() and not file.samefile(module.__file__ or os.devnull):
            raise ValueError(f"an installed package has that name, too: give the file, {file.name}:...")
        return module
    except (Exception, SystemExit) as error:
        raise ValueError(
            f"cannot import module '{place}' ({type(error).__name__}: {error}). Give a file and a name "
            "in it, as in my_file.py:name, or a module in the current directory, as in my_file:name"
        ) from error


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the modules of `module_of_file` by their names, also when a pickle is read."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if not name.startswith(PREFIX):
            return None
        file = os.fsdecode(bytes.fromhex(name.rpartition("_")[2]))
        return importlib.util.spec_from_file_location(name, file, loader=_Loader())


class _Loader(importlib.abc.Loader):
    """Executes a file without keeping compiled code beside it, which might be of other contents."""

    def exec_module(self, module: ModuleType) -> None:
        assert module.__file__ is not None
        source = Path(module.__file__).read_bytes()
        if not module.__name__.startswith(f"{PREFIX}{_digest_of(source)}_"):
            raise ValueError(f"{module.__file__} has changed since the command began: start it again")
        folder = str(Path(module.__file__).parent)
        sys.path.insert(0, folder)
        try:
            exec(compile(source, module.__file__, "exec"), module.__dict__)
        finally:
            sys.path.remove(folder)


sys.meta_path.append(_Finder())
