"""The laws, one file per family; each file lists what it states as `A = B`.

Importing this package registers the laws of every file in it, so that a new file needs no other mention.
"""

import importlib
import pkgutil

for _module in sorted(module.name for module in pkgutil.iter_modules(__path__)):
    importlib.import_module(f"{__name__}.{_module}")
