"""Secrets that pods read: those the stack holds are created, the others must be on the cluster."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from inferfleet.api.documents import Documents
from inferfleet.api.problems import Problem
from inferfleet.desired.values import SecretNeed


@dataclass(frozen=True, order=True)
class Reference:
    """One place in a pod template that reads a Secret; `key` is None where all of it is read.

    Name and key are "" where the team did not write them.
    """

    namespace: str
    name: str
    key: str | None
    optional: bool


def references(namespace: str, template: Mapping[str, Any]) -> Iterator[Reference]:
    """Every Secret the pod reads: pull secrets, environment and volumes."""
    spec = template["spec"]
    for pull in spec.get("imagePullSecrets", []):
        yield Reference(namespace, pull.get("name", ""), ".dockerconfigjson", False)
    for container in (*spec.get("initContainers", []), *spec["containers"]):
        for variable in container.get("env", []):
            if ref := variable.get("valueFrom", {}).get("secretKeyRef"):
                yield Reference(namespace, ref.get("name", ""), ref.get("key", ""), _optional(ref))
        for source in container.get("envFrom", []):
            if ref := source.get("secretRef"):
                yield Reference(namespace, ref.get("name", ""), None, _optional(ref))
    for volume in spec.get("volumes", []):
        if source := volume.get("secret"):
            yield from _of_volume(namespace, source.get("secretName", ""), source)
        for projection in volume.get("projected", {}).get("sources", []):
            if source := projection.get("secret"):
                yield from _of_volume(namespace, source.get("name", ""), source)


def _of_volume(namespace: str, name: str, source: Mapping[str, Any]) -> Iterator[Reference]:
    keys = [item.get("key", "") for item in source.get("items", [])]
    yield from (Reference(namespace, name, key, _optional(source)) for key in keys or [None])


def _optional(source: Mapping[str, Any]) -> bool:
    return bool(source.get("optional", False))


def held(documents: Documents, found: Iterable[Reference]) -> dict[tuple[str, str], tuple[str, ...]]:
    """The Secrets to create, by (namespace, name), and the keys that the stack holds of each."""
    secrets = documents.settings.secrets
    wanted = sorted({(one.namespace, one.name) for one in found})
    return {pair: secrets["/".join(pair)] for pair in wanted if "/".join(pair) in secrets}


def missing_keys(documents: Documents, deployment: str, found: Iterable[Reference]) -> Iterator[Problem]:
    """Keys that a pod reads and that the stack's Secret does not have, and references without a name."""
    problem = partial(Problem, path="spec.workers.template.spec", kind="ModelDeployment", key=deployment)
    for one in sorted(set(found), key=str):
        if not one.name or one.key == "":
            of = f"secret {one.name}" if one.name else "a secret"
            what = f"{deployment} reads {of} without saying {'which key' if one.name else 'its name'}"
            yield problem(what, "Write it, or remove the reference")
            continue
        keys = documents.settings.secrets.get(f"{one.namespace}/{one.name}")
        if keys is not None and one.key is not None and one.key not in keys and not one.optional:
            yield problem(
                f"{deployment} reads key {one.key!r} of secret {one.name}, and the stack holds only "
                f"{', '.join(sorted(keys)) or 'no key'} for {one.namespace}/{one.name}",
                f'Run: pulumi config set --secret --path \'inferfleet:secrets["{one.namespace}/{one.name}"]'
                f'["{one.key}"]\'',
            )


def needed(documents: Documents, found: Iterable[Reference]) -> tuple[SecretNeed, ...]:
    """Secrets that must stand on the cluster already, because the stack does not hold them."""
    keys: dict[tuple[str, str], set[str]] = {}
    for one in found:
        if not one.optional and f"{one.namespace}/{one.name}" not in documents.settings.secrets:
            keys.setdefault((one.namespace, one.name), set()).update([one.key] if one.key else [])
    return tuple(
        SecretNeed(namespace, name, tuple(sorted(of))) for (namespace, name), of in sorted(keys.items())
    )
