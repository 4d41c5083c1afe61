"""What plugins are told of a pod: facts of its documents, as values that no plugin can change."""

from collections.abc import Mapping
from types import MappingProxyType

from inferfleet.cloud.values import CloudPool
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.inference_class import Device, InferenceClass
from inferfleet.documents.kinds.inference_cluster import InferenceCluster
from inferfleet.fleet import names
from inferfleet.fleet.roles import balance, connector, hands_over, listening_port, workers_of
from inferfleet.plugins.contract import (
    ClassFacts,
    ClusterFacts,
    DeploymentFacts,
    DeviceFacts,
    PoolFacts,
    Request,
    TaintFacts,
)
from inferfleet.serving.pod.hardware import Hardware
from inferfleet.serving.pod.stand import Stand
from inferfleet.tables.devices import RESOURCE_BY_DRIVER


def request(
    documents: Documents, stand: Stand, *, class_name: str, device: Device | None, cloud: CloudPool | None
) -> Request:
    """Return what plugins are told of pods; `cloud` is their pool, if the stack creates it."""
    spot, role = stand.spot, stand.role
    return Request(
        stack=documents.settings.stack,
        deployment=_deployment(stand),
        role=role,
        position="Entry" if stand.position == "Entry" else "Worker",
        workload=names.worker_set(spot, role) if stand.shape.pods > 1 else names.workload(spot, role),
        selector=MappingProxyType(names.workload_selector(spot, role)),
        node_class=_class(documents.classes[class_name]),
        accelerator=_device(device, stand.hardware.allocation) if device else None,
        gpus=stand.hardware.gpus,
        cluster=_cluster(documents.clusters[spot.cluster]),
        pool=_pool(spot.pool(role), stand.hardware, cloud),
        group_size=stand.shape.pods,
    )


def _deployment(stand: Stand) -> DeploymentFacts:
    document, engine = stand.deployment, stand.engine
    spec, workers = document.spec, workers_of(document, stand.role)
    topology = workers.topology
    return DeploymentFacts(
        namespace=document.metadata.namespace,
        name=document.metadata.name,
        labels=_read_only(document.metadata.labels),
        replicas=spec.wanted,
        workers=workers.count,
        pods_per_worker=topology.pods_per_worker,
        tensor=topology.tensor,
        pipeline=topology.pipeline,
        balance=balance(document, stand.role),
        data=topology.data,
        data_local=topology.data_local,
        engine=engine.type,
        model=engine.model.repository if engine.model else None,
        port=listening_port(document, stand.role),
        connector=connector(document) if hands_over(document, stand.role) else None,
    )


def _class(document: InferenceClass) -> ClassFacts:
    return ClassFacts(
        name=document.metadata.name,
        labels=_read_only(document.metadata.labels),
        devices=tuple(_device(device, document.spec.allocation) for device in document.spec.all_devices),
    )


def _device(device: Device, allocation: str) -> DeviceFacts:
    attributes = {
        name: next(value for _, value in attribute if value is not None)
        for name, attribute in device.attributes.items()
    }
    return DeviceFacts(
        name=device.name,
        driver=device.driver,
        count=device.count,
        resource=RESOURCE_BY_DRIVER.get(device.driver)
        if device.claim == "DRA" and allocation == "DevicePlugin"
        else None,
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
        kit_image=spec.serving.images.kit,
    )


def _pool(name: str, needs: Hardware, cloud: CloudPool | None) -> PoolFacts:
    labels = {**(cloud.labels if cloud else {}), **needs.node_selector}
    return PoolFacts(
        name=name,
        node_labels=MappingProxyType(labels),
        taints=tuple(
            TaintFacts(key=taint.key, value=taint.value, effect=taint.effect) for taint in needs.taints
        ),
        zones=cloud.zones if cloud else (),
        fabric=cloud.fabric if cloud else None,
        networks=cloud.networks if cloud else (),
        claims_cards=bool(cloud and cloud.claims_cards),
    )


def _read_only(labels: Mapping[str, str]) -> Mapping[str, str]:
    return MappingProxyType(dict(labels))
