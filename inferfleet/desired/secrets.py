"""Secrets that pods read: those with values in the stack are created, others must exist on the cluster."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from inferfleet.desired.values import SecretNeed
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.documents.kinds.workers import POSITIONS
from inferfleet.documents.pods.texts import SUBDOMAIN
from inferfleet.documents.problems import Problem
from inferfleet.documents.wording import listing, path_of, shown
from inferfleet.fleet.roles import roles_of, template_path, workers_of
from inferfleet.fleet.spot import Spot

# https://kubernetes.io/docs/concepts/configuration/secret/#restriction-names-data
_NAME = re.compile(SUBDOMAIN.pattern)
_KEY = re.compile(r"[-._a-zA-Z0-9]{1,253}")


@dataclass(frozen=True, order=True)
class Reference:
    """One place in a pod template that reads a Secret; `key` is None where all of it is read.

    Name and key are "" where they are not written.
    """

    namespace: str
    name: str
    key: str | None
    optional: bool


def references(namespace: str, template: Mapping[str, Any]) -> Iterator[Reference]:
    """Yield every Secret that the pod reads: pull secrets, environment and volumes."""
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


def stack_secrets(documents: Documents, reads: Iterable[Reference]) -> dict[tuple[str, str], tuple[str, ...]]:
    """Return the Secrets to create, by namespace and name, with the keys that the stack has of each."""
    secrets = documents.settings.secrets
    wanted = sorted({(ref.namespace, ref.name) for ref in reads})
    return {pair: secrets["/".join(pair)] for pair in wanted if "/".join(pair) in secrets}


def secret_problems(documents: Documents, reads: Mapping[Spot, Iterable[Reference]]) -> Iterator[Problem]:
    """Yield what is wrong with the stack's Secrets and with the pods of each spot that read them."""
    by_deployment: dict[str, list[Reference]] = {}
    for spot, references in reads.items():
        yield from missing_key_problems(documents, spot.deployment, references)
        by_deployment.setdefault(spot.deployment, []).extend(references)
    yield from _unread_secret_problems(documents, by_deployment)
    yield from _unusable_secret_problems(
        documents, [each for references in by_deployment.values() for each in references]
    )


def missing_key_problems(
    documents: Documents, deployment: str, reads: Iterable[Reference]
) -> Iterator[Problem]:
    """Yield keys that a pod reads and the stack's Secret does not have."""
    problem = partial(Problem, kind="ModelDeployment", key=deployment)
    for ref in sorted(set(reads), key=str):
        keys = documents.settings.secrets.get(f"{ref.namespace}/{ref.name}")
        if keys is not None and ref.key is not None and ref.key not in keys and not ref.optional:
            yield problem(
                path=f"{_reader(documents.deployments[deployment], ref)}.spec",
                what=f"{deployment} reads key {shown(ref.key)!r} of secret {ref.name}, and the stack holds "
                f"only {listing(sorted(keys)) or 'no key'} for {ref.namespace}/{ref.name}",
                next_step="Run: pulumi config set --secret --path "
                f'\'inferfleet:secrets["{ref.namespace}/{ref.name}"]["{shown(ref.key)}"]\'',
            )


def _reader(deployment: ModelDeployment, ref: Reference) -> str:
    """Return where the template is that reads it: that of entries where only a plugin has added it."""
    for role in roles_of(deployment):
        for position in POSITIONS:
            template = workers_of(deployment, role).of(position)
            if template and ref in references(ref.namespace, {"spec": template.spec}):
                return template_path(deployment, role, position)
    return template_path(deployment)


def _unusable_secret_problems(documents: Documents, reads: Iterable[Reference]) -> Iterator[Problem]:
    """Yield Secrets of the stack that a pod reads and Kubernetes would not take, by their names and keys."""
    problem = partial(Problem, kind="Settings", key=documents.settings.stack)
    for (namespace, name), keys in sorted(stack_secrets(documents, reads).items()):
        key_of_setting = f"{namespace}/{name}"
        if not _NAME.fullmatch(name):
            yield problem(
                f"{shown(name)!r} is no name of a Secret: lowercase letters, digits, '-' and single dots",
                "Rename it here and where pods read it",
                path_of(("secrets", key_of_setting)),
            )
        for key in keys:
            if not _KEY.fullmatch(key) or key.startswith("..") or key == ".":
                yield problem(
                    f"{shown(key)!r} is no key of a Secret: letters, digits, '-', '_' and '.', at most 253",
                    "Rename it here and where pods read it",
                    path_of(("secrets", key_of_setting, key)),
                )


def _unread_secret_problems(
    documents: Documents, reads: Mapping[str, Iterable[Reference]]
) -> Iterator[Problem]:
    """Yield a warning for each Secret of the stack that no pod reads, and so is created nowhere.

    `reads` are by deployment. The pods of a deployment that is placed nowhere are not known, so nothing is
    said of the Secrets in its namespace.
    """
    names = {f"{ref.namespace}/{ref.name}" for refs in reads.values() for ref in refs}
    unknown = {key.partition("/")[0] for key in documents.deployments if key not in reads}
    for name in sorted(documents.settings.secrets):
        if name not in names and name.partition("/")[0] not in unknown:
            yield Problem(
                f"no pod reads secret {name}, so it is not created on any cluster",
                "Remove it, or correct its name or the reference in the pod template",
                path=path_of(("secrets", name)),
                kind="Settings",
                key=documents.settings.stack,
                severity="warning",
            )


def secret_needs(documents: Documents, reads: Iterable[tuple[str, Reference]]) -> tuple[SecretNeed, ...]:
    """Return the Secrets that must exist on the cluster, because the stack has no values for them.

    `reads` have the deployment that reads.
    """
    wanted: dict[tuple[str, str], dict[str, Reference]] = {}
    keys: dict[tuple[str, str], set[str]] = {}
    for deployment, ref in reads:
        if not ref.optional and f"{ref.namespace}/{ref.name}" not in documents.settings.secrets:
            secret = (ref.namespace, ref.name)
            keys.setdefault(secret, set()).update([ref.key] if ref.key else [])
            wanted.setdefault(secret, {}).setdefault(deployment, ref)
    needs = []
    for (namespace, name), readers in sorted(wanted.items()):
        first = min(readers)
        needs.append(
            SecretNeed(
                namespace,
                name,
                keys=tuple(sorted(keys[namespace, name])),
                deployments=tuple(sorted(readers)),
                path=_reader(documents.deployments[first], readers[first]),
            )
        )
    return tuple(needs)
