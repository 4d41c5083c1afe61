"""Secrets whose values the stack has: they are created where pods read them."""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.documents.pods.references import Reference, references
from inferfleet.documents.pods.texts import SUBDOMAIN
from inferfleet.documents.problems import Problem
from inferfleet.documents.wording import listing, path_of, shown
from inferfleet.fleet.names import SYSTEM_NAMESPACE
from inferfleet.fleet.roles import role_templates, roles_of, template_path
from inferfleet.fleet.spot import Spot

# https://kubernetes.io/docs/concepts/configuration/secret/#restriction-names-data
_NAME = re.compile(SUBDOMAIN.pattern)
_KEY = re.compile(r"[-._a-zA-Z0-9]{1,253}")


# A deployment, and an object that its pods name; or a cache, and an object that its Job names.
Read = tuple[str, Reference]


def stack_secrets(documents: Documents, reads: Iterable[Read]) -> dict[tuple[str, str], tuple[str, ...]]:
    """Return the Secrets to create, by namespace and name, with the keys that the stack has of each."""
    secrets = documents.settings.secrets
    wanted = sorted({(namespace_of(key), ref.name) for key, ref in reads if ref.kind == "Secret"})
    return {pair: secrets["/".join(pair)] for pair in wanted if "/".join(pair) in secrets}


def namespace_of(deployment: str) -> str:
    """Return the namespace of a deployment by its key, `namespace/name`."""
    return deployment.partition("/")[0]


def secret_problems(
    documents: Documents, reads: Mapping[Spot, Iterable[Reference]], of_caches: Iterable[Read] = ()
) -> Iterator[Problem]:
    """Yield what is wrong with the stack's Secrets, with the pods of each spot that read them, and with
    caches whose Jobs do.
    """
    by_deployment: dict[str, list[Reference]] = {}
    for key, reference in sorted(set(of_caches)):
        if reference.kind == "Secret":
            yield from _lacking_key_problems(documents, key, reference)
            by_deployment.setdefault(key, []).append(reference)
    for spot, named in reads.items():
        secrets = [reference for reference in named if reference.kind == "Secret"]
        yield from missing_key_problems(documents, spot.deployment, secrets)
        by_deployment.setdefault(spot.deployment, []).extend(secrets)
    yield from _unread_secret_problems(documents, by_deployment)
    yield from _unusable_secret_problems(
        documents, [(key, each) for key, secrets in by_deployment.items() for each in secrets]
    )


def missing_key_problems(
    documents: Documents, deployment: str, reads: Iterable[Reference]
) -> Iterator[Problem]:
    """Yield keys that a pod reads and the stack's Secret does not have."""
    problem = partial(Problem, kind="ModelDeployment", key=deployment)
    namespace = namespace_of(deployment)
    for ref in sorted(set(reads), key=lambda each: (each.name, each.key or "")):
        keys = documents.settings.secrets.get(f"{namespace}/{ref.name}")
        if keys is not None and ref.key is not None and ref.key not in keys and not ref.optional:
            yield problem(
                path=f"{_reader(documents.deployments[deployment], ref)}.spec",
                what=f"{deployment} reads key {shown(ref.key)!r} of secret {ref.name}, and the stack holds "
                f"only {listing(sorted(keys)) or 'no key'} for {namespace}/{ref.name}",
                next_step="Run: pulumi config set --secret --path "
                f'\'inferfleet:secrets["{namespace}/{ref.name}"]["{shown(ref.key)}"]\'',
            )


def _lacking_key_problems(documents: Documents, cache: str, ref: Reference) -> Iterator[Problem]:
    setting = f"{namespace_of(cache)}/{ref.name}"
    keys = documents.settings.secrets.get(setting)
    if keys is not None and ref.key is not None and ref.key not in keys:
        yield Problem(
            f"ModelCache {cache} reads key {shown(ref.key)!r} of secret {ref.name}, and the stack holds only "
            f"{listing(sorted(keys)) or 'no key'} for {setting}",
            f'Run: pulumi config set --secret --path \'inferfleet:secrets["{setting}"]["{shown(ref.key)}"]\'',
            "spec.source.huggingFace.token.secretRef.key",
            kind="ModelCache",
            key=cache,
        )


def _reader(deployment: ModelDeployment, ref: Reference) -> str:
    """Return where the template is that reads it: that of entries where only a plugin has added it."""
    for role in roles_of(deployment):
        for _, path, template in role_templates(deployment, role):
            if ref in references({"spec": template.spec}):
                return path
    return template_path(deployment)


def _unusable_secret_problems(documents: Documents, reads: Iterable[Read]) -> Iterator[Problem]:
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
    names = {f"{namespace_of(key)}/{ref.name}" for key, refs in reads.items() for ref in refs}
    names |= {
        f"{SYSTEM_NAMESPACE}/{name}"
        for gateway in documents.gateways.values()
        for name in gateway.spec.secrets
    }
    unknown = {namespace_of(key) for key in documents.deployments if key not in reads}
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
