

def load():
    """The module, imported as qkvet imports it."""
    sys.dont_write_bytecode = True
    sys.argv = [MODULE]
    sys.path.insert(0, FOLDER)
    return importlib.import_module(MODULE)
