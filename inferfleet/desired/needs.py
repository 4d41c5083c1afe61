"""What pods name and the stack does not make, so that it has to be on their cluster."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from inferfleet.desired.pods import Pods
from inferfleet.desired.secrets import Read, namespace_of
from inferfleet.desired.values import ObjectNeed
from inferfleet.documents.documents import Documents
from inferfleet.documents.pods.diff import field_path
from inferfleet.documents.pods.references import OF_CLUSTERS, Reference, references
from inferfleet.documents.wording import path_of

# Kubernetes makes these in each namespace (pkg/controller/serviceaccount/serviceaccounts_controller.go and
# pkg/controller/certificates/rootcacertpublisher).
_IN_EVERY_NAMESPACE = (("ServiceAccount", "default"), ("ConfigMap", "kube-root-ca.crt"))
# The names of classes that every API server makes begin so.
_SYSTEM_CLASSES = "system-"
# Whether this kind is there only its driver knows.
_OF_DRIVERS = "SecretProviderClass"
# Kind, namespace and name.
Name = tuple[str, str, str]


def object_needs(
    documents: Documents, reads: Iterable[Read], pods: Iterable[Pods], made: Collection[Name]
) -> tuple[ObjectNeed, ...]:
    """Return what the `reads` of deployments and caches name and is not among what the stack has `made`
    there.

    `pods` are those of the cluster: by them each need has the line of a document.
    """
    wanted: dict[Name, dict[str, Reference]] = {}
    keys: dict[Name, set[str]] = {}
    for deployment, reference in reads:
        name = (
            reference.kind,
            "" if reference.kind in OF_CLUSTERS else namespace_of(deployment),
            reference.name,
        )
        if name not in made and _is_needed(documents, name, optional=reference.optional):
            keys.setdefault(name, set()).update([reference.key] if reference.key else [])
            wanted.setdefault(name, {}).setdefault(deployment, reference)
    if not wanted:
        return ()
    pods_of: dict[str, list[Pods]] = {}
    for each in pods:
        pods_of.setdefault(each.spot.deployment, []).append(each)
    needs = []
    for name, readers in sorted(wanted.items()):
        first = min(readers)
        kind, key, path = "ModelCache", first, "spec"
        if first in pods_of:
            kind, key, path = _place(pods_of[first], readers[first])
        needs.append(
            ObjectNeed(
                *name,
                keys=tuple(sorted(keys[name])),
                deployments=tuple(sorted(readers)),
                may_follow=any(
                    _brings_custom(each) for reader in readers for each in pods_of.get(reader, ())
                ),
                kind=kind,
                key=key,
                path=path,
            )
        )
    return tuple(needs)


def _is_needed(documents: Documents, name: Name, *, optional: bool) -> bool:
    kind, namespace, text = name
    if optional or not text or kind == _OF_DRIVERS or (kind, text) in _IN_EVERY_NAMESPACE:
        return False
    if kind == "Secret":
        return f"{namespace}/{text}" not in documents.settings.secrets
    return not (kind == "PriorityClass" and text.startswith(_SYSTEM_CLASSES))


def _place(every: Sequence[Pods], reference: Reference) -> tuple[str, str, str]:
    """Return kind and key of the document that names the object, and the path in it: of a deployment, of the
    plugin that changed the place last, or of the cluster for pull secrets of its own.
    """
    for pods in every:
        if written := _named(pods.placed.written.manifest, reference):
            return "ModelDeployment", pods.spot.deployment, f"{pods.placed.path}.{path_of(written.path)}"
        template = pods.outcome.template
        named = _named(template, reference)
        link = pods.link_at(field_path(template, named.path)) if named else None
        if link:
            return link.kind, link.key, link.path
    first = every[0]
    # Pickers have these too, whatever the templates of their engines say.
    serving = first.placed.serving
    if serving and reference.kind == "Secret" and reference.name in serving.image_pull_secrets:
        return "InferenceCluster", first.spot.cluster, "spec.serving.imagePullSecrets"
    return "ModelDeployment", first.spot.deployment, first.placed.path


def _named(template: Mapping[str, object], reference: Reference) -> Reference | None:
    return next((each for each in references(template) if each == reference), None)


def _brings_custom(pods: Pods) -> bool:
    """Return whether a plugin adds an object beside the pods whose controller may make others, such as an
    ExternalSecret.
    """
    groups = (companion.manifest["apiVersion"].rpartition("/")[0] for companion in pods.outcome.companions)
    return any("." in group and not group.endswith(".k8s.io") for group in groups)
