# First of all, where the process is ours. One source with the other files of this folder; only the
# standard library.

import sys

if sys.path and sys.path[0] == "":
    del sys.path[0]  # a json.py in the current folder must not be taken for the library's
sys.dont_write_bytecode = True  # nothing is left beside the user's files
