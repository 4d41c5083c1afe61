"""Renders the add-ons that a stack installs and that its project lacks, with the toolchain's own programs."""

import os
from pathlib import Path

from inferfleet.cli.source import stack_source
from inferfleet.desired.addons import unrendered_problems
from inferfleet.documents.documents import Documents
from inferfleet.rendering.render import texts, wanted_addons, write
from inferfleet.tables.addons import AddonName
from sandbox.toolchain.go import go
from sandbox.toolchain.progress import Progress
from sandbox.toolchain.tools import Tools


def manages(addon: AddonName, documents: Documents) -> bool:
    """Return whether a cluster of the documents has this add-on from the stack."""
    return any(addon in cluster.spec.addons for cluster in documents.clusters.values())


def manages_addons(documents: Documents) -> bool:
    """Return whether a cluster of the documents has add-ons that the stack installs."""
    return any(cluster.spec.addons for cluster in documents.clusters.values())


def render_missing(root: Path, stack: str, tools: Tools, progress: Progress) -> None:
    """Render what the documents of a stack need and its project does not have. Raises InvalidDocuments."""
    source = stack_source(root, stack, base=root)
    clusters = source.desired().clusters
    wanted = {cluster.connection.cluster: cluster.addons for cluster in clusters}
    if source.files is None or not any(unrendered_problems(source.documents, wanted)):
        return
    with progress.step("add-ons", "rendering what the stack installs on its clusters"):
        path = os.pathsep.join([tools.path, str(go(progress).parent)])
        write(source.files, texts(wanted_addons(source.documents, clusters), path=path))
