"""Finds the packages: the engine's own, and the two content folders that are mapped into its namespace."""

from setuptools import find_packages, setup


def content(folder: str) -> list[str]:
    """`folder` and its sub-packages under their names within egraph_opt."""
    return [f"egraph_opt.{name}" for name in find_packages(include=[folder, f"{folder}.*"])]


setup(
    packages=[
        *find_packages(include=["egraph_opt", "egraph_opt.*"]),
        *content("rewrites"),
        *content("cost_models"),
    ]
)
