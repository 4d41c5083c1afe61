"""Which files the add-ons of a stack have in its project, and how those that are there differ."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import yaml

from inferfleet.desired.values import DesiredCluster
from inferfleet.documents.documents import Documents, Rendered
from inferfleet.documents.loading.files import is_inside, write_text
from inferfleet.documents.loading.installed import SOURCE, folder_of, texts_of
from inferfleet.documents.loading.project import StackFiles
from inferfleet.documents.problems import InvalidDocuments, Problem
from inferfleet.rendering.commands import module_folder, rendered_chart
from inferfleet.tables.addons import ADDONS, AddonName

# Annotations of Helm: helm.sh/hook, helm.sh/hook-weight and helm.sh/hook-delete-policy.
_HOOKS = "helm.sh/hook"
# An add-on and its version, with the values of documents.
Wanted = Mapping[tuple[AddonName, str], Mapping[str, Any]]


@dataclass(frozen=True)
class Difference:
    """A file that is not as it is rendered, by its path in the folder of manifests."""

    path: str
    how: Literal["missing", "different", "left over"]


def wanted_addons(documents: Documents, clusters: Iterable[DesiredCluster]) -> Wanted:
    """Return the add-ons that clusters have installed."""
    return {
        (addon.name, addon.version): documents.clusters[cluster.connection.cluster]
        .spec.addons[addon.name]
        .values
        for cluster in clusters
        for addon in cluster.addons
        if not addon.left
    }


def texts(wanted: Wanted, *, path: str | None = None) -> dict[str, str]:
    """Return all files by their paths in the folder of manifests, made by programs on the PATH, or on `path`.

    Raises InvalidDocuments.
    """
    return {
        f"{name}/{version}/{file}": text
        for (name, version), values in sorted(wanted.items())
        for file, text in texts_of(rendered(name, version, values, path=path)).items()
    }


def rendered(
    name: AddonName, version: str, values: Mapping[str, Any], *, path: str | None = None
) -> Rendered:
    """Return the manifests of an add-on, made anew. Raises InvalidDocuments."""
    row = ADDONS[name]
    release = row.release(version)
    assert release is not None  # documents name known versions alone
    module = module_folder(release, path)
    objects: list[dict[str, Any]] = []
    for pattern in release.definitions:
        for file in sorted(module.glob(pattern)):
            objects += _objects(file.read_text())
    if row.namespace:
        objects.append({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": row.namespace}})
    for chart in release.charts:
        text = rendered_chart(
            module / chart.folder,
            release=chart.release,
            namespace=row.namespace,
            values=(chart.values, values),
            defaults=chart.defaults,
            hooks=chart.hooks,
            path=path,
        )
        objects += map(_without_hooks, _objects(text))
    return Rendered(release.digest, values, tuple(objects))


def _objects(text: str) -> Iterator[dict[str, Any]]:
    for document in yaml.load_all(text, Loader=yaml.CSafeLoader):
        if document:
            # What Kubernetes itself writes stands in files of definitions, empty.
            yield {key: value for key, value in document.items() if key != "status"}


def _without_hooks(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return an object without the annotations by which Helm alone knows when to make it."""
    metadata = dict(manifest["metadata"])
    annotations = metadata.pop("annotations", None) or {}
    if kept := {name: value for name, value in annotations.items() if not name.startswith(_HOOKS)}:
        metadata["annotations"] = kept
    return {**manifest, "metadata": metadata}


def differences(files: StackFiles, texts: Mapping[str, str]) -> tuple[Difference, ...]:
    """Return how the project differs from these files."""
    folder = folder_of(files)
    present = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    differing = [
        Difference(path, "different" if path in present else "missing")
        for path, text in texts.items()
        if path not in present or (folder / path).read_text() != text
    ]
    return tuple(
        sorted(
            [*differing, *(Difference(path, "left over") for path in present - texts.keys())],
            key=lambda each: each.path,
        )
    )


def write(files: StackFiles, texts: Mapping[str, str]) -> None:
    """Make the folder of manifests have these files alone. What says that a version is whole comes last.

    Raises InvalidDocuments for a folder that leads out of the project.
    """
    folder = folder_of(files)
    if not all(is_inside((folder / path).parent, files.root) for path in texts):
        what = f"{folder}, or a folder in it, is outside of the project, where a symbolic link leads"
        raise InvalidDocuments([Problem(what, "Remove the link")])
    changed = differences(files, texts)
    for each in changed:
        if each.how == "left over":
            (folder / each.path).unlink()
    for each in sorted(changed, key=lambda each: each.path.endswith(f"/{SOURCE}")):
        if each.how != "left over":
            (folder / each.path).parent.mkdir(parents=True, exist_ok=True)
            write_text(folder / each.path, texts[each.path])
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_dir() and not any(path.iterdir()):
            path.rmdir()
