"""A repository of the Hugging Face Hub and a commit of it, as ModelCaches and adapters name them."""

import re
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator

from inferfleet.documents.problems import mistaken
from inferfleet.documents.wording import shown

_REPOSITORY = re.compile(r"[A-Za-z0-9][-A-Za-z0-9._]{0,95}/[A-Za-z0-9][-A-Za-z0-9._]{0,95}")
_COMMIT = re.compile("[0-9a-f]{40}")


def _check_repository(name: str) -> str:
    if not _REPOSITORY.fullmatch(name):
        what = f"{{field}} {shown(name)!r} is no repository of the Hugging Face Hub"
        raise mistaken(what, "Write owner and name, such as Qwen/Qwen3-32B-AWQ")
    return name


def _check_commit(revision: Any) -> Any:
    if isinstance(revision, str) and not _COMMIT.fullmatch(revision):
        what = (
            f"{{field}} {shown(revision)!r} is no commit: a branch or tag may be other weights tomorrow, and "
            "nobody would fetch them"
        )
        step = (
            "Write the 40 digits of its commit, the field `sha` of "
            f"https://huggingface.co/api/models/REPOSITORY/revision/{shown(revision)}"
        )
        raise mistaken(what, step)
    return revision


Repository = Annotated[str, AfterValidator(_check_repository)]
Commit = Annotated[str, BeforeValidator(_check_commit)]
