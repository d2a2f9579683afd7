"""The names of all that the suite needs, to install their newest releases, whatever the bounds."""

import re
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
extras = project["optional-dependencies"]
wanted = [*project["dependencies"], *extras["test"]]
for line in wanted:  # an extra may name extras of the project's own
    own = re.match(rf"{project['name']}\[(.*)\]", line)
    if own is None:
        print(re.split(r"[<>=!~;\s]", line)[0])
    else:
        wanted += [entry for extra in own[1].split(",") for entry in extras[extra]]
