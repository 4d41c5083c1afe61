"""`installed/`: the manifests of add-ons that a stack installs, as `inferfleet stack render` writes them.

They are in `installed/<add-on>/<version>/` beside the lock, one file for each object, and `source.yaml`,
which says what they were rendered from. Definitions of kinds are JSON: as YAML, those of LeaderWorkerSet
alone take a second of every plan.
"""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from inferfleet.documents.documents import Documents, Rendered
from inferfleet.documents.loading.files import INSTALLED, MAX_BYTES, UnreadableFile, read_regular
from inferfleet.documents.loading.project import StackFiles
from inferfleet.documents.problems import Problem, Where
from inferfleet.documents.wording import shown
from inferfleet.tables.addons import AddonName

SOURCE = "source.yaml"
DEFINITION = "CustomResourceDefinition"
# Files of one version of an add-on; Istio has some forty.
_MOST = 500
_STEP = "Remove its folder, and run `inferfleet stack render`, which makes it anew"


def folder_of(files: StackFiles) -> Path:
    """Return the folder with the manifests of a stack."""
    return files.lock_file.parent / INSTALLED


def texts_of(rendered: Rendered) -> dict[str, str]:
    """Return the files of a version of an add-on, by name."""
    texts = {SOURCE: _yaml({"digest": rendered.digest, "values": dict(rendered.values)})}
    for manifest in rendered.objects:
        metadata = manifest["metadata"]
        name = "-".join(
            part for part in (manifest["kind"], metadata.get("namespace", ""), metadata["name"]) if part
        ).lower()
        if manifest["kind"] == DEFINITION:
            texts[f"{metadata['name']}.json"] = json.dumps(manifest, indent=1, sort_keys=True) + "\n"
        else:
            texts[f"{name.replace(':', '-')}.yaml"] = _yaml(manifest)
    return texts


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as blocks, which a review shows line by line."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


def _yaml(data: Mapping[str, Any]) -> str:
    return yaml.dump(data, Dumper=_Dumper, width=100_000, allow_unicode=True)


@dataclass(frozen=True)
class _Damaged(Exception):  # noqa: N818 (it says what happened to the file)
    file: Path
    why: str
    step: str = _STEP


def read_installed(
    documents: Documents, files: StackFiles, base: Path
) -> tuple[dict[AddonName, dict[str, Rendered]], list[Problem]]:
    """Return what is rendered of the add-ons that a cluster of the documents has installed, by version, and
    why some of it could not be read.
    """
    managed = {name for cluster in documents.clusters.values() for name in cluster.spec.addons}
    installed: dict[AddonName, dict[str, Rendered]] = {}
    problems: list[Problem] = []
    for name in sorted(managed):
        for version, folder in _versions(folder_of(files) / name):
            try:
                installed.setdefault(name, {})[version] = _read(folder, files.root)
            except _Damaged as damaged:
                path = damaged.file.relative_to(base) if damaged.file.is_relative_to(base) else damaged.file
                problems.append(Problem(f"the file {damaged.why}", damaged.step, where=Where(str(path), 1)))
    return installed, problems


def _versions(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the versions that are rendered: each folder with a source, which is written last."""
    if not os.path.isdir(folder):
        return
    for name in sorted(os.listdir(folder)):
        if os.path.isfile(folder / name / SOURCE):
            yield name, folder / name


def _read(folder: Path, root: Path) -> Rendered:
    source = _map(folder / SOURCE, root)
    names = sorted(name for name in os.listdir(folder) if name != SOURCE and not name.startswith("."))
    if len(names) > _MOST:
        raise _Damaged(folder, f"is in a folder with more than {_MOST} files")
    objects = tuple(_object(folder / name, root) for name in names)
    return Rendered(str(source.get("digest", "")), source.get("values") or {}, objects)


def _object(file: Path, root: Path) -> dict[str, Any]:
    manifest = _map(file, root)
    metadata = manifest.get("metadata")
    if not (
        isinstance(manifest.get("apiVersion"), str)
        and isinstance(manifest.get("kind"), str)
        and isinstance(metadata, dict)
        and isinstance(metadata.get("name"), str)
    ):
        raise _Damaged(file, "is no object of Kubernetes: it has no apiVersion, kind or metadata.name")
    return manifest


def _map(file: Path, root: Path) -> dict[str, Any]:
    try:
        text = read_regular(file, root, limit=MAX_BYTES)
        read = json.loads(text) if file.suffix == ".json" else yaml.load(text, Loader=yaml.CSafeLoader)
    except UnreadableFile as unreadable:
        raise _Damaged(file, unreadable.why, unreadable.next_step) from None
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        raise _Damaged(file, f"cannot be read: {shown(str(error).splitlines()[0])}") from None
    if not isinstance(read, dict):
        raise _Damaged(file, "has no map")
    return read
