"""Prompts as Jinja templates; what corpora and models say goes in as values and is never read as a template."""

from functools import cache
from pathlib import Path

from jinja2 import FileSystemLoader, StrictUndefined
from jinja2.sandbox import SandboxedEnvironment


def render(folder: Path, name: str, /, **values: object) -> str:
    """Fill the template ``<name>.jinja`` of a folder; white space at both ends goes."""
    return _environment(folder).get_template(f"{name}.jinja").render(values).strip()


@cache
def _environment(folder: Path) -> SandboxedEnvironment:
    # Plain text for a model, not HTML: escaping would put `&#39;` into the prompt.
    return SandboxedEnvironment(
        loader=FileSystemLoader(folder),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,
    )
