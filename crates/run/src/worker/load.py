# Finding the function under test and reading from its signature what it offers.

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

# Option of qkvet -> the argument names that it goes by.
OPTIONS = {
    "scale": ("scale", "softmax_scale", "sm_scale"),
    "causal": ("causal", "is_causal"),
    "mask": ("mask", "attn_mask"),
    "bias": ("bias", "attn_bias"),
    "softcap": ("softcap", "logits_soft_cap"),
    "window": ("window", "window_size", "sliding_window"),
    "sinks": ("sinks",),
    "alibi_slopes": ("alibi_slopes",),
    "key_lengths": ("key_lengths", "kv_seqlen", "cache_seqlens", "key_value_seq_lengths"),
    "query_lengths": ("query_lengths", "query_seq_lengths"),
    "query_offsets": ("query_offsets", "cu_seqlens_q"),
    "key_offsets": ("key_offsets", "cu_seqlens_k"),
    "return_weights": ("return_weights", "need_weights"),
    "return_lse": ("return_lse", "return_softmax_lse"),
}
# One option of qkvet, two arguments.
PACKED = ("query_offsets", "key_offsets")


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
        frames = [(file, line) for file, line in frames if not file.startswith("<")]
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


def parameters(function):
    """The parameters, or None where Python cannot tell."""
    forward = getattr(function, "forward", None)  # a torch module hides its signature behind **kwargs
    for candidate in (function, forward):
        try:
            found = list(inspect.signature(candidate).parameters.values())
        except (TypeError, ValueError):
            continue
        if any(p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in found) or forward is None:
            return found
    return None


def layer_of(function):
    """The form of a multi-head layer and its biases, by the names of the parameters; None for attention itself."""
    return layer_form([p.name for p in parameters(function) or ()])


def match_arguments(name, function, supports, mask_takes_bias):
    """Option -> argument name, and the options that must always be passed."""
    found = parameters(function)
    var_keyword, by_name, required = True, {}, []
    if found is not None:
        shown = "%s(%s)" % (name.split(".")[-1], ", ".join(p.name for p in found))
        places = [p for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        wrap = "wrap it: def attention(query, key, value, scale=None, causal=False, mask=None): ..."
        kind = layer_of(function)
        inputs = len(kind[0]) if kind else 3
        if len(places) < inputs and not any(p.kind == p.VAR_POSITIONAL for p in found):
            raise LoadError("signature", "%s cannot take query, key, value by position" % shown, wrap)
        var_keyword = any(p.kind == p.VAR_KEYWORD for p in found)
        rest = places[inputs:] + [p for p in found if p.kind == p.KEYWORD_ONLY]
        biases = kind[1] if kind else ()
        rest = [p for p in rest if p.name not in biases]
        by_name = {p.name: p for p in rest if p.kind != p.POSITIONAL_ONLY}
        required = [p.name for p in rest if p.default is p.empty]

    arguments = {}
    for option, names in OPTIONS.items():
        argument = next((n for n in names if n in by_name), None)
        if argument is not None:
            arguments[option] = argument
    if mask_takes_bias and "bias" not in arguments and "mask" in arguments:
        arguments["bias"] = arguments["mask"]
    always = [option for option, argument in arguments.items() if argument in required]
    for argument in required:
        if argument not in arguments.values():
            layer = {"x_q", "x_kv", "w_q", "w_k", "w_v", "w_qkv", "w_o"} & {p.name for p in found}
            hint = "%s; what else a layer may take is in docs/layers.md" % LAYERS if layer else wrap
            raise LoadError("signature", "%s needs an argument `%s` that is not an option" % (shown, argument), hint)
    if supports is not None:
        arguments = declared(name, supports, arguments, var_keyword, always)
        if mask_takes_bias and "bias" not in arguments and "mask" in arguments:
            arguments["bias"] = arguments["mask"]
    return arguments, always


def declared(name, supports, arguments, var_keyword, always):
    """What `supports` lists, under the argument names of the signature or, with **kwargs, under the listed ones."""
    kept = {option: arguments[option] for option in always}
    for word in (word for listed in supports for word in (PACKED if listed == "packed" else (listed,))):
        option = next((o for o, names in OPTIONS.items() if word in names), None)
        if option is None:
            known = list(OPTIONS) + ["packed"]
            message = "supports: unknown option `%s`; known: %s" % (word, ", ".join(known))
            raise LoadError("supports", message, nearest(word, known))
        if option not in arguments and not var_keyword:
            raise LoadError("supports", "supports lists `%s`, but %s has no argument for it" % (word, name))
        kept[option] = arguments.get(option, word)
    return kept
