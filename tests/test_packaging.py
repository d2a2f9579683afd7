"""What is installed is what is in the folders."""

import tomllib
from pathlib import Path

import egraph_opt

ROOT = Path(egraph_opt.__file__).parents[1]


def test_every_package_of_the_source_is_listed_for_installation() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    listed = set(settings["tool"]["setuptools"]["packages"])
    folders = {
        "egraph_opt": "egraph_opt",
        "rewrites": "egraph_opt.rewrites",
        "cost_models": "egraph_opt.cost_models",
    }
    found = set()
    for folder, name in folders.items():
        for package in (ROOT / folder).rglob("__init__.py"):
            below = package.parent.relative_to(ROOT / folder).parts
            found.add(".".join((name, *below)))
    assert listed == found
