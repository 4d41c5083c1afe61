"""Kinds of Kubernetes and of what is often installed beside it, by (API group, kind); the core group is "".

The built-in ones are those that `kubectl api-resources` of Kubernetes 1.36 lists, those of its alpha versions
(k8s.io/api 0.36.3, types marked with `+genclient`), and those that earlier versions served.
"""

Kinds = frozenset[tuple[str, str]]


def _kinds(group: str, names: str) -> Kinds:
    return frozenset((group, name) for name in names.split())


# They make pods, or are some. Others are known by the pod template in them.
RUNS_PODS: Kinds = (
    _kinds("", "Pod PodTemplate ReplicationController")
    | _kinds("apps", "DaemonSet Deployment ReplicaSet StatefulSet")
    | _kinds("batch", "CronJob Job")
    | _kinds("extensions", "DaemonSet Deployment ReplicaSet")
)

# Others of namespaces.
_NAMESPACED: Kinds = (
    _kinds("", "ConfigMap Endpoints LimitRange PersistentVolumeClaim ResourceQuota Secret Service")
    | _kinds("", "ServiceAccount")
    | _kinds("apps", "ControllerRevision")
    | _kinds("autoscaling", "HorizontalPodAutoscaler")
    | _kinds("certificates.k8s.io", "PodCertificateRequest")
    | _kinds("coordination.k8s.io", "Lease LeaseCandidate")
    | _kinds("discovery.k8s.io", "EndpointSlice")
    | _kinds("extensions", "Ingress NetworkPolicy")
    | _kinds("networking.k8s.io", "Ingress NetworkPolicy")
    | _kinds("policy", "PodDisruptionBudget")
    | _kinds("rbac.authorization.k8s.io", "Role RoleBinding")
    | _kinds("resource.k8s.io", "ResourceClaim ResourceClaimTemplate")
    | _kinds("scheduling.k8s.io", "PodGroup Workload")
    | _kinds("storage.k8s.io", "CSIStorageCapacity")
)

_CLUSTER_SCOPED: Kinds = (
    _kinds("", "ComponentStatus Namespace Node PersistentVolume")
    | _kinds(
        "admissionregistration.k8s.io",
        "MutatingAdmissionPolicy MutatingAdmissionPolicyBinding MutatingWebhookConfiguration "
        "ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration",
    )
    | _kinds("apiextensions.k8s.io", "CustomResourceDefinition")
    | _kinds("apiregistration.k8s.io", "APIService")
    | _kinds("certificates.k8s.io", "CertificateSigningRequest ClusterTrustBundle")
    | _kinds("flowcontrol.apiserver.k8s.io", "FlowSchema PriorityLevelConfiguration")
    | _kinds("internal.apiserver.k8s.io", "StorageVersion")
    | _kinds("networking.k8s.io", "IPAddress IngressClass ServiceCIDR")
    | _kinds("node.k8s.io", "RuntimeClass")
    | _kinds("policy", "PodSecurityPolicy")
    | _kinds("rbac.authorization.k8s.io", "ClusterRole ClusterRoleBinding")
    | _kinds("resource.k8s.io", "DeviceClass DeviceTaintRule ResourcePoolStatusRequest ResourceSlice")
    | _kinds("scheduling.k8s.io", "PriorityClass")
    | _kinds("storage.k8s.io", "CSIDriver CSINode StorageClass VolumeAttachment VolumeAttributesClass")
    | _kinds("storagemigration.k8s.io", "StorageVersionMigration")
)
# https://gateway-api.sigs.k8s.io/reference/spec/#gatewayclass
CLUSTER_SCOPED: Kinds = _CLUSTER_SCOPED | _kinds("gateway.networking.k8s.io", "GatewayClass")

# Every kind that Kubernetes keeps objects of, and its groups. Others are custom resources, or aggregated.
BUILT_IN: Kinds = RUNS_PODS | _NAMESPACED | _CLUSTER_SCOPED
GROUPS = frozenset(group for group, _ in BUILT_IN) | {
    "authentication.k8s.io",
    "authorization.k8s.io",
    "events.k8s.io",
}

# Custom resources that make pods and may hold no container that tells so: a model server by its model, tasks
# by name, a job by its runtime. Kinds as the CRDs of these projects name them.
CUSTOM_THAT_RUN_PODS: Kinds = (
    _kinds("argoproj.io", "CronWorkflow Rollout Workflow")
    | _kinds("batch.volcano.sh", "Job")
    | _kinds("jobset.x-k8s.io", "JobSet")
    | _kinds("keda.sh", "ScaledJob")
    | _kinds("kubeflow.org", "JAXJob MPIJob PaddleJob PyTorchJob TFJob XGBoostJob")
    | _kinds("leaderworkerset.x-k8s.io", "LeaderWorkerSet")
    | _kinds("ray.io", "RayCluster RayJob RayService")
    | _kinds("serving.knative.dev", "Configuration Revision Service")
    | _kinds("serving.kserve.io", "InferenceService LLMInferenceService")
    | _kinds("sparkoperator.k8s.io", "ScheduledSparkApplication SparkApplication")
    | _kinds("tekton.dev", "PipelineRun TaskRun")
    | _kinds("trainer.kubeflow.org", "TrainJob")
)
