"""What pods refer to by name, by Kubernetes' own fields: objects of their namespace, and of the cluster.

Left out are the Secrets of volumes of azureFile, cephfs, flexVolume, iscsi, rbd, scaleIO and storageos, and
claims of devices, which no template may have.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from inferfleet.documents.pods.template import containers_of
from inferfleet.documents.problems import FieldPath

# Of what a pod names, these belong to the cluster, and all else to its namespace.
OF_CLUSTERS = frozenset({"RuntimeClass", "PriorityClass", "CSIDriver", "StorageClass"})


@dataclass(frozen=True, order=True)
class Reference:
    """One place in a pod template that names an object, or a key of it; "" where the name is not written."""

    kind: str
    name: str
    key: str | None = None
    """The key of a Secret or ConfigMap; None where all of it is read."""
    optional: bool = False
    """Whether pods start without it."""
    path: FieldPath = field(default=(), compare=False)
    """The field in the template."""
    reader: str = field(default="the pod", compare=False)
    """What of the pod reads it, in words."""


def references(template: Mapping[str, Any]) -> Iterator[Reference]:
    """Yield the objects that pods of a template name. Only its `spec` is looked at."""
    spec = template["spec"]
    for kind, name in (
        ("ServiceAccount", "serviceAccountName"),
        ("RuntimeClass", "runtimeClassName"),
        ("PriorityClass", "priorityClassName"),
    ):
        if spec.get(name):
            yield Reference(kind, spec[name], path=("spec", name))
    for index, pull in enumerate(spec.get("imagePullSecrets", ())):
        path = ("spec", "imagePullSecrets", index, "name")
        yield Reference("Secret", pull.get("name", ""), ".dockerconfigjson", path=path)
    for index, volume in enumerate(spec.get("volumes", ())):
        yield from _of_volume(volume, ("spec", "volumes", index))
    for at, container in containers_of(spec):
        yield from _of_container(container, at)


def _of_container(container: Mapping[str, Any], at: FieldPath) -> Iterator[Reference]:
    for index, variable in enumerate(container.get("env", ())):
        reader = f"variable {variable.get('name')} of container {container.get('name')}"
        for field_name, kind in (("secretKeyRef", "Secret"), ("configMapKeyRef", "ConfigMap")):
            if source := variable.get("valueFrom", {}).get(field_name):
                path = (*at, "env", index, "valueFrom", field_name)
                yield _read(kind, source, source.get("key", ""), (*path, "name"), reader)
    for index, every in enumerate(container.get("envFrom", ())):
        for field_name, kind in (("secretRef", "Secret"), ("configMapRef", "ConfigMap")):
            if source := every.get(field_name):
                path = (*at, "envFrom", index, field_name, "name")
                yield _read(kind, source, None, path, f"container {container.get('name')}")


def _of_volume(volume: Mapping[str, Any], at: FieldPath) -> Iterator[Reference]:
    reader = f"volume {volume.get('name')}"
    yield from _of_files(volume, at, reader, secret="secretName")
    for index, source in enumerate(volume.get("projected", {}).get("sources", ())):
        yield from _of_files(source, (*at, "projected", "sources", index), reader, secret="name")
    if claim := volume.get("persistentVolumeClaim"):
        path = (*at, "persistentVolumeClaim", "claimName")
        yield Reference("PersistentVolumeClaim", claim.get("claimName", ""), path=path, reader=reader)
    if csi := volume.get("csi"):
        yield Reference("CSIDriver", csi.get("driver", ""), path=(*at, "csi", "driver"), reader=reader)
        if secret := csi.get("nodePublishSecretRef"):
            yield _read("Secret", secret, None, (*at, "csi", "nodePublishSecretRef", "name"), reader)
        # The driver of kubernetes-sigs/secrets-store-csi-driver reads an object of this kind.
        if name := csi.get("volumeAttributes", {}).get("secretProviderClass"):
            path = (*at, "csi", "volumeAttributes", "secretProviderClass")
            yield Reference("SecretProviderClass", name, path=path, reader=reader)
    claimed = volume.get("ephemeral", {}).get("volumeClaimTemplate", {}).get("spec", {})
    if name := claimed.get("storageClassName"):
        path = (*at, "ephemeral", "volumeClaimTemplate", "spec", "storageClassName")
        yield Reference("StorageClass", name, path=path, reader=reader)


def _of_files(source: Mapping[str, Any], at: FieldPath, reader: str, *, secret: str) -> Iterator[Reference]:
    """Yield the Secret and the ConfigMap that are mounted as files, once for each key that is listed."""
    for field_name, kind, name in (("secret", "Secret", secret), ("configMap", "ConfigMap", "name")):
        if files := source.get(field_name):
            keys = [item.get("key", "") for item in files.get("items", ())]
            for key in keys or [None]:
                yield _read(kind, {**files, "name": files.get(name)}, key, (*at, field_name, name), reader)


def _read(kind: str, source: Mapping[str, Any], key: str | None, path: FieldPath, reader: str) -> Reference:
    return Reference(
        kind, source.get("name") or "", key, bool(source.get("optional", False)), path=path, reader=reader
    )
