"""`inferfleet new`: a project of one's own from the template that comes with inferfleet."""

import re
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer
import yaml

from inferfleet.api.loading.files import write_text
from inferfleet.api.loading.stack_files import shipped
from inferfleet.api.problems import InvalidDocuments, Problem
from inferfleet.api.wording import listing, shown
from inferfleet.cli.output import print_line
from inferfleet.cli.report import reporting
from inferfleet.cli.show.manifests import refuse_links

Folder = Annotated[Path, typer.Argument(help="The project's folder, which is made where it is missing.")]
Name = Annotated[
    str | None,
    typer.Option("--name", help="The project's name. Default: that of the folder.", show_default=False),
]
Description = Annotated[str, typer.Option("--description", help="What the project is, in one line.")]

# Pulumi's rule for names of projects; commands would take one that begins with '-' for an option.
_NAME = re.compile(r"(?!-)[A-Za-z0-9_.-]{1,100}")
# A section of Pulumi.yaml that only `pulumi new` reads, to the end of the file.
_OF_TEMPLATE = re.compile(r"^template:\n(?: .*\n)*\Z", re.MULTILINE)


def new(
    folder: Folder = Path("."),
    name: Name = None,
    description: Description = "A GPU inference fleet",
) -> None:
    """Write a project: documents of a small stack for the sandbox, its settings, the Pulumi program of five
    lines, workflows for GitHub and GitLab, and a README that says how to begin.

    `pulumi new` writes the same files from the folder `template` of inferfleet's repository. Nothing that
    exists is overwritten.
    """
    with reporting():
        project = name if name is not None else folder.absolute().resolve().name
        files = project_files(project, description)
        there = [file for file in files if (folder / file).exists()]
        if there:
            what = f"folder {folder} has {listing(there)} already, and nothing is overwritten"
            raise InvalidDocuments([Problem(what, "Name a new folder")])
        if folder.exists() and not folder.is_dir():
            what = f"{folder} is a file, not a folder"
            raise InvalidDocuments([Problem(what, "Name a new folder")])
        refuse_links(folder, files)
        for file, text in files.items():
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            write_text(folder / file, text)
        print_line(f"{folder}: project {project} is written. Its README.md says how to begin.")


def project_files(project: str, description: str) -> dict[str, str]:
    """Return the text of each file of a new project by its path.

    Raises InvalidDocuments for a name or description that Pulumi.yaml cannot have.
    """
    if not _NAME.fullmatch(project):
        what = (
            f"{shown(project)!r} is no name of a project: at most 100 letters, digits, '.', '_' and '-', "
            "which does not come first"
        )
        raise InvalidDocuments([Problem(what, "Name it: --name fleet")])
    if not _is_plain(description):
        what = f"the description {shown(description)!r} is no plain text in YAML"
        raise InvalidDocuments([Problem(what, "Write one line without ': ', ' #' and quotes")])
    template = shipped("template")
    texts = {
        str(file.relative_to(template)): file.read_text()
        .replace("${PROJECT}", project)
        .replace("${DESCRIPTION}", description)
        for file in sorted(template.rglob("*"))
        if file.is_file() and "__pycache__" not in file.parts
    }
    texts["Pulumi.yaml"] = _OF_TEMPLATE.sub("", texts["Pulumi.yaml"])
    pinned = f"inferfleet=={version('inferfleet')}"
    texts["requirements.txt"] = re.sub("^inferfleet$", pinned, texts["requirements.txt"], flags=re.MULTILINE)
    return texts


def _is_plain(text: str) -> bool:
    """Return whether YAML reads the text behind a key as it stands."""
    try:
        return bool(text.isprintable() and yaml.safe_load(f"key: {text}") == {"key": text})
    except yaml.YAMLError:
        return False
