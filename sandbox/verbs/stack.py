"""The stack that a verb works on: whether it exists, and what its documents are."""

from dataclasses import replace
from pathlib import Path

from inferfleet.documents import Documents, InvalidDocuments, load
from inferfleet.documents.loading.files import is_inside
from inferfleet.documents.loading.project import StackFiles, stacks_of
from inferfleet.documents.loading.settings import read_config
from inferfleet.documents.wording import one_of
from sandbox.places import StackPlaces
from sandbox.problem import SandboxProblem


def stack_places(root: Path, stack: str) -> StackPlaces:
    """Return the folders of a stack that exists. Raises SandboxProblem, naming the stacks there are.

    A stack without settings and documents still exists while its sandbox does, so that this can be looked at.
    """
    places = StackPlaces(root, stack)
    known = stacks_of(root)
    if stack not in known and not places.folder.is_dir():
        step = one_of(stack, known, "Known stacks") if known else f"Create stacks/Pulumi.{stack}.yaml"
        raise SandboxProblem(f"there is no stack {stack!r} in {root / 'stacks'}. {step}")
    return places


def stack_documents(root: Path, stack: str) -> Documents:
    """Return the documents of a stack, from the folder that its settings name.

    Raises SandboxProblem when the stack or, in the project, the folder does not exist; and InvalidDocuments.
    """
    stack_places(root, stack)
    files = StackFiles(root, stack)
    config = read_config(files.config_file, root, root)
    if config.problems:
        raise InvalidDocuments(config.problems)
    folder = config.values.get("documents")
    files = replace(files, folder=folder if isinstance(folder, str) else None)
    another = f"name another one with inferfleet:documents in {files.config_file}"
    if not is_inside(files.documents, root):
        raise SandboxProblem(
            f"the folder of documents of stack {stack} is outside of the project: {files.documents}. Move it "
            f"into the project, or {another}."
        )
    if not files.documents.is_dir():
        raise SandboxProblem(
            f"the folder of documents of stack {stack} does not exist: {files.documents}. Create it, or "
            f"{another}."
        )
    return load([files.documents], catalogue=files.catalogue, base=root, root=root)
