"""Files that differ and of which a digest tells nothing else, or the outcome alone."""

from dataclasses import dataclass
from typing import Literal

from inferfleet.review.digest.values.models import Coming

FileKind = Literal["program", "packages", "plugin", "policy", "workflow", "submodule", "stack"]


@dataclass(frozen=True)
class File:
    """A file by which programs, packages, access or rules of an update become others."""

    path: str
    """Its path in the project; outside of that its path in the repository, after a slash."""
    kind: FileKind
    """`program`: Python, what may be run, links, and `Pulumi.yaml`. `packages`: what is required. `plugin`
    and `policy`: in the folders of these names, waivers too. `workflow`: what CI and tools are told, in files
    or folders whose names begin with a dot. `submodule`: another commit of another repository. `stack`: what
    else is among documents and classes, such as kubeconfigs and `capacity.lock`.
    """
    change: Coming
    """Whether it is new, gone, or there on both sides."""
