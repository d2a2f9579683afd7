"""The laws, a folder per family and in it a file per subject, which lists what it states as `A = B`.

Importing this package registers the laws of every file in it, so that a new file needs no other mention.
"""

import importlib
import pkgutil

for _module in sorted(module.name for module in pkgutil.walk_packages(__path__, f"{__name__}.")):
    importlib.import_module(_module)
