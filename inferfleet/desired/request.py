"""What plugins are told of a pod: facts of its documents, as values that no plugin can change."""

from collections.abc import Mapping
from types import MappingProxyType

from inferfleet.api.documents import Documents
from inferfleet.api.kinds.inference_class import Device, InferenceClass
from inferfleet.api.kinds.inference_cluster import InferenceCluster
from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.fleet import names
from inferfleet.fleet.engine_args import port_of
from inferfleet.fleet.spot import Spot
from inferfleet.gke.values import CloudPool
from inferfleet.manifests.pod.hardware import Hardware
from inferfleet.plugins.contract import (
    ClassFacts,
    ClusterFacts,
    DeploymentFacts,
    DeviceFacts,
    PoolFacts,
    Request,
    TaintFacts,
)
from inferfleet.profiles.devices import RESOURCE_BY_DRIVER


def request(
    documents: Documents,
    spot: Spot,
    role: str,
    *,
    class_name: str,
    device: Device,
    needs: Hardware,
    cloud: CloudPool | None,
) -> Request:
    """Return what plugins are told of the pods of a role; `cloud` is their pool, if the stack creates it."""
    return Request(
        stack=documents.settings.stack,
        deployment=_deployment(documents.deployments[spot.deployment]),
        role=role,
        position="Entry",
        workload=names.workload(spot, role),
        selector=MappingProxyType(names.workload_selector(spot, role)),
        node_class=_class(documents.classes[class_name]),
        accelerator=_device(device),
        gpus=needs.gpus,
        cluster=_cluster(documents.clusters[spot.cluster]),
        pool=_pool(spot.pool(role), needs, cloud),
    )


def _deployment(document: ModelDeployment) -> DeploymentFacts:
    spec = document.spec
    topology = spec.workers.topology
    return DeploymentFacts(
        namespace=document.metadata.namespace,
        name=document.metadata.name,
        labels=_read_only(document.metadata.labels),
        replicas=spec.replicas,
        workers=spec.workers.count,
        pods_per_worker=topology.pods_per_worker,
        tensor=topology.tensor,
        pipeline=topology.pipeline,
        data=topology.data,
        data_local=topology.data_local,
        engine=spec.engine.type,
        port=port_of(spec.engine),
    )


def _class(document: InferenceClass) -> ClassFacts:
    return ClassFacts(
        name=document.metadata.name,
        labels=_read_only(document.metadata.labels),
        devices=tuple(map(_device, document.spec.all_devices)),
    )


def _device(device: Device) -> DeviceFacts:
    attributes = {
        name: next(value for _, value in attribute if value is not None)
        for name, attribute in device.attributes.items()
    }
    return DeviceFacts(
        name=device.name,
        driver=device.driver,
        count=device.count,
        resource=RESOURCE_BY_DRIVER.get(device.driver) if device.claim == "DRA" else None,
        attributes=MappingProxyType(attributes),
        capacity=MappingProxyType({name: amount.value for name, amount in device.capacity.items()}),
    )


def _cluster(document: InferenceCluster) -> ClusterFacts:
    spec = document.spec
    return ClusterFacts(
        name=document.metadata.name,
        source=spec.cluster.source,
        state=spec.state,
        labels=_read_only(document.metadata.labels),
        gateway=spec.serving.gateway.provider,
        profile=spec.serving.profile,
        version=spec.cluster.gke.min_version if spec.cluster.gke else None,
    )


def _pool(name: str, needs: Hardware, cloud: CloudPool | None) -> PoolFacts:
    made = cloud.pool if cloud else None
    labels = {**(made.document.labels if made else {}), **needs.node_selector}
    return PoolFacts(
        name=name,
        node_labels=MappingProxyType(labels),
        taints=tuple(
            TaintFacts(key=taint.key, value=taint.value, effect=taint.effect) for taint in needs.taints
        ),
        zones=made.zones if made else (),
        fabric=made.fabric.kind if made and made.fabric else None,
        networks=tuple(network.part for network in made.networks) if made else (),
    )


def _read_only(labels: Mapping[str, str]) -> Mapping[str, str]:
    return MappingProxyType(dict(labels))
