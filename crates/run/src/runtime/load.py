# Finding the function under test.

import ctypes
import difflib
import importlib
import importlib.util
import inspect
import math
import os
import struct
import sys
import traceback
import zlib


class LoadError(Exception):
    def __init__(self, kind, message, hint=None):
        super().__init__(message)
        self.kind, self.message, self.hint = kind, message, hint


def text(error):
    """`Type: message` on one line."""
    try:
        # Half a pair of UTF-16 is a character of Python, and none of JSON.
        words = " ".join(str(error).split()).encode("utf-8", "backslashreplace").decode()
    except Exception:
        words = "(its message could not be read)"
    name = type(error).__name__
    return (name + ": " + words if words else name)[:600]


def place(error, folder):
    """` at file.py:12`: the innermost line of the target's own files that the exception passed through."""
    if isinstance(error, SyntaxError) and error.filename:
        frames = [(error.filename, error.lineno)]
    else:
        frames = [(f.f_code.co_filename, line) for f, line in traceback.walk_tb(error.__traceback__)]
        frames = [(file, line) for file, line in frames if not file.startswith("<") and file != place.__code__.co_filename]
    own = [(file, line) for file, line in frames if is_own(file, folder)]
    if not frames:
        return ""
    file, line = (own or frames)[-1]
    return " at %s:%s" % (short(file), line)


def is_own(file, folder):
    if not folder or not os.path.abspath(file).startswith(os.path.join(folder, "")):
        return False
    inner = os.path.abspath(file)[len(folder) :]
    return "site-packages" not in inner and "dist-packages" not in inner


def short(file):
    try:
        relative = os.path.relpath(file)
    except ValueError:  # another drive
        return file
    return file if relative.startswith("..") else relative


def nearest(name, names):
    found = difflib.get_close_matches(name, names, n=3, cutoff=0.7)
    return "did you mean %s?" % " or ".join("`%s`" % x for x in found) if found else None


def load_module(hello):
    """The module, and the folder that its own files lie in."""
    file, module = hello["target"].get("file"), hello["target"].get("module")
    if file is not None:
        path = os.path.abspath(file)
        folder, name = os.path.split(path)
        sys.path.insert(0, folder)
        if not os.path.isfile(path):
            files = [x for x in os.listdir(folder) if x.endswith(".py")] if os.path.isdir(folder) else []
            raise LoadError("file-not-found", "no such file: %s" % file, nearest(name, files))
        stem = os.path.splitext(name)[0]
        if stem in sys.modules:
            stem = "qkvet_target_" + stem
        spec = importlib.util.spec_from_file_location(stem, path)
        if spec is None or spec.loader is None:
            raise LoadError("file-not-found", "expected a Python file, got %s" % file)
        loaded = importlib.util.module_from_spec(spec)
        sys.modules[stem] = loaded
        importing(lambda: spec.loader.exec_module(loaded), file, folder)
        return loaded, folder
    folder = os.path.abspath(hello.get("folder") or os.getcwd())
    sys.path.insert(0, folder)
    loaded = importing(lambda: importlib.import_module(module), module, folder)
    own = getattr(importlib.import_module(module.split(".")[0]), "__file__", None)
    return loaded, folder if own is None or is_own(own, folder) else os.path.dirname(os.path.abspath(own))


def importing(action, name, folder):
    try:
        return action()
    except BaseException as error:
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing is not None and (name + ".").startswith(missing + "."):
            names = {os.path.splitext(x)[0] for x in os.listdir(folder)} if os.path.isdir(folder) else set()
            hint = nearest(name, names) or "a file is given as path/file.py:function"
            message = "no module named `%s` in %s or in the packages of %s" % (missing, folder, sys.executable)
            raise LoadError("module-not-found", message, hint)
        hint = None
        if missing is not None:
            hint = "install `%s` for %s, or choose another Python" % (missing, sys.executable)
        elif isinstance(error, ImportError) and error.name is None:  # Python names what it did not find, but for relative imports
            hint = "a file with relative imports is given as a module of its package: package.module:function"
        raise LoadError("import-failed", "importing %s raised %s%s" % (name, text(error), place(error, folder)), hint)


def find_function(module, name):
    at = module
    for part in name.split("."):
        try:
            at = getattr(at, part)
        except AttributeError:
            known = [x for x in dir(at) if not x.startswith("_") and callable(getattr(at, x, None))]
            own = [x for x in known if getattr(getattr(at, x), "__module__", None) == module.__name__]
            message = "no function `%s` in %s" % (name, getattr(module, "__name__", "it"))
            if own:
                message += "; known: " + ", ".join(own[:8])
            raise LoadError("function-not-found", message, nearest(part, known))
    if not callable(at):
        raise LoadError("not-callable", "expected `%s` to be a function, got %s" % (name, type(at).__name__))
    return at
