

def load():
    """The module, imported as qkvet imports it."""
    sys.dont_write_bytecode = True
    path = os.path.abspath(FILE)
    sys.argv = [FILE]
    sys.path.insert(0, os.path.dirname(path))
    name = os.path.splitext(os.path.basename(path))[0]
    if name in sys.modules:
        name = "qkvet_target_" + name
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
