"""`inferfleet new`: a project of one's own from the template that comes with inferfleet."""

import json
import re
from importlib.metadata import Distribution
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer
import yaml

from inferfleet.cli.output import print_line
from inferfleet.cli.report import reporting
from inferfleet.cli.show.manifests import refuse_links
from inferfleet.documents.loading.files import write_text
from inferfleet.documents.loading.project import shipped
from inferfleet.documents.problems import InvalidDocuments, Problem
from inferfleet.documents.wording import listing, shown

Folder = Annotated[Path, typer.Argument(help="The project's folder, which is made where it is missing.")]
Name = Annotated[
    str | None,
    typer.Option("--name", help="The project's name. Default: that of the folder.", show_default=False),
]
Description = Annotated[str, typer.Option("--description", help="What the project is, in one line.")]

# Pulumi's rule for names of projects; commands would take one that begins with '-' for an option.
_NAME = re.compile(r"(?!-|\.\.?$)[A-Za-z0-9_.-]{1,100}")
# What a package index can have. Commits after a tag have versions with `.dev` and a label behind `+`, and
# folders without history 0.0.0 (pyproject.toml).
_RELEASE = re.compile(r"(?!0\.0\.0$)\d+(\.\d+)*((a|b|rc)\d+)?(\.post\d+)?")
# The line of the template's requirements that says where inferfleet comes from.
_UNKNOWN = re.compile(r"^inferfleet @ .*$", re.MULTILINE)
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
        if _requirement() is None:
            print_line(
                f"{folder / 'requirements.txt'}: write where inferfleet comes from, a commit or a wheel. "
                f"What runs here is {Distribution.from_name('inferfleet').version}, which no package index "
                "has; until then the project's workflows end at their step Install."
            )


def project_files(project: str, description: str) -> dict[str, str]:
    """Return the text of each file of a new project by its path.

    Raises InvalidDocuments for a name or description that Pulumi.yaml cannot have.
    """
    if not _NAME.fullmatch(project):
        what = (
            f"{shown(project)!r} is no name of a project: at most 100 letters, digits, '.', '_' and '-', "
            "which does not come first, and more than dots"
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
    requirement = _requirement()
    if requirement is not None:
        texts["requirements.txt"] = _UNKNOWN.sub(requirement, texts["requirements.txt"])
    return texts


def _requirement() -> str | None:
    """Return the line for the inferfleet that runs, or None where it can be had nowhere else."""
    running = Distribution.from_name("inferfleet")
    return requirement_of(running.version, running.read_text("direct_url.json"))


def requirement_of(version: str, origin: str | None) -> str | None:
    """Return the line of requirements.txt that installs this version, or None where no index can have it.

    `origin` is the text of direct_url.json, which pip writes beside what it did not take from an index:
    https://packaging.python.org/en/latest/specifications/direct-url-data-structure/ (2026-11).
    """
    direct = json.loads(origin) if origin else {}
    commit = direct.get("vcs_info", {})
    if commit.get("vcs") == "git" and not _has_credentials(direct["url"]):
        return f"inferfleet @ git+{direct['url']}@{commit['commit_id']}"
    return f"inferfleet=={version}" if _RELEASE.fullmatch(version) else None


def _has_credentials(url: str) -> bool:
    """Return whether an address has a password, or a name that may be a token: that of ssh is none."""
    parts = urlsplit(url)
    return parts.password is not None or (parts.username is not None and parts.scheme != "ssh")


def _is_plain(text: str) -> bool:
    """Return whether YAML reads the text behind a key as it stands."""
    try:
        return bool(text.isprintable() and yaml.safe_load(f"key: {text}") == {"key": text})
    except yaml.YAMLError:
        return False
