"""What single fields may be besides text: numbers in a range, one of several words, one of several fields."""

from collections.abc import Mapping

_PORT = (1, 65_535)
_MODE = (0, 0o777)
_ID = (0, 2**31 - 1)
_COUNT = (0, 2**31 - 1)
_WEIGHT = (1, 100)

# By definition: the least and the greatest number of a field, or of each entry of a list.
RANGES: Mapping[tuple[str, str], tuple[int, int]] = {
    ("AWSElasticBlockStoreVolumeSource", "partition"): (0, 255),
    ("ConfigMapProjection", "defaultMode"): _MODE,
    ("ConfigMapVolumeSource", "defaultMode"): _MODE,
    ("ContainerPort", "containerPort"): _PORT,
    ("ContainerPort", "hostPort"): (0, 65_535),
    ("DownwardAPIVolumeFile", "mode"): _MODE,
    ("DownwardAPIVolumeSource", "defaultMode"): _MODE,
    ("FCVolumeSource", "lun"): (0, 255),
    ("GCEPersistentDiskVolumeSource", "partition"): (0, 255),
    ("GRPCAction", "port"): _PORT,
    ("ISCSIVolumeSource", "lun"): (0, 255),
    ("KeyToPath", "mode"): _MODE,
    ("ObjectMeta", "generation"): (0, 2**63 - 1),
    ("PodCertificateProjection", "maxExpirationSeconds"): (3600, 91 * 86_400),
    ("PodSecurityContext", "fsGroup"): _ID,
    ("PodSecurityContext", "runAsGroup"): _ID,
    ("PodSecurityContext", "runAsUser"): _ID,
    ("PodSecurityContext", "supplementalGroups"): _ID,
    # The API server takes a negative one as 1, which is no time to drain.
    ("PodSpec", "terminationGracePeriodSeconds"): (0, 2**63 - 1),
    ("PreferredSchedulingTerm", "weight"): _WEIGHT,
    ("Probe", "failureThreshold"): _COUNT,
    ("Probe", "initialDelaySeconds"): _COUNT,
    ("Probe", "periodSeconds"): _COUNT,
    ("Probe", "successThreshold"): _COUNT,
    ("Probe", "terminationGracePeriodSeconds"): (1, 2**63 - 1),
    ("Probe", "timeoutSeconds"): _COUNT,
    ("ProjectedVolumeSource", "defaultMode"): _MODE,
    ("SecretVolumeSource", "defaultMode"): _MODE,
    ("SecurityContext", "runAsGroup"): _ID,
    ("SecurityContext", "runAsUser"): _ID,
    ("ServiceAccountTokenProjection", "expirationSeconds"): (600, 2**32),
    ("ServicePort", "nodePort"): (0, 65_535),
    ("ServicePort", "port"): _PORT,
    ("ServiceSpec", "healthCheckNodePort"): (0, 65_535),
    ("SleepAction", "seconds"): (0, 2**63 - 1),
    ("TopologySpreadConstraint", "maxSkew"): (1, 2**31 - 1),
    ("TopologySpreadConstraint", "minDomains"): (1, 2**31 - 1),
    ("WeightedPodAffinityTerm", "weight"): _WEIGHT,
}
_SELECTS = ("In", "NotIn", "Exists", "DoesNotExist")
# Choices that the API server makes and does not name in its document of types.
CHOICES: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("Container", "restartPolicy"): ("Always", "Never", "OnFailure"),
    ("ContainerResizePolicy", "resourceName"): ("cpu", "memory"),
    ("ContainerResizePolicy", "restartPolicy"): ("NotRequired", "RestartContainer"),
    ("ContainerRestartRule", "action"): ("Restart", "RestartAllContainers"),
    ("ContainerRestartRuleOnExitCodes", "operator"): ("In", "NotIn"),
    ("LabelSelectorRequirement", "operator"): _SELECTS,
    ("PodCertificateProjection", "keyType"): (
        "ECDSAP256",
        "ECDSAP384",
        "ECDSAP521",
        "ED25519",
        "RSA3072",
        "RSA4096",
    ),
    ("PodOS", "name"): ("linux", "windows"),
    # MountOption is behind a feature gate that is off.
    ("PodSecurityContext", "seLinuxChangePolicy"): ("Recursive",),
    # A Deployment has no other: its pods are to serve for ever.
    ("PodSpec", "restartPolicy"): ("Always",),
    ("ServiceSpec", "trafficDistribution"): ("PreferClose", "PreferSameNode", "PreferSameZone"),
    # Lt and Gt are behind a feature gate that is off.
    ("Toleration", "operator"): ("Equal", "Exists"),
    ("VolumeMount", "recursiveReadOnly"): ("Disabled", "Enabled", "IfPossible"),
}
# Fields where an empty text counts as absent, among those with choices.
EMPTY_IS_ABSENT = frozenset(
    {
        ("Container", "imagePullPolicy"),
        ("Container", "terminationMessagePolicy"),
        ("ContainerPort", "protocol"),
        ("HTTPGetAction", "scheme"),
        ("ImageVolumeSource", "pullPolicy"),
        ("PodSpec", "dnsPolicy"),
        ("PodSpec", "restartPolicy"),
        ("ServicePort", "protocol"),
        ("ServiceSpec", "externalTrafficPolicy"),
        ("ServiceSpec", "sessionAffinity"),
        ("ServiceSpec", "type"),
        ("Toleration", "effect"),
        ("Toleration", "operator"),
    }
)
# Fields that must be there although the document of types does not say so.
REQUIRED: Mapping[str, tuple[str, ...]] = {
    "PodSpec": ("containers",),
    "PodTemplateSpec": ("spec",),
    "Container": ("image",),
    "ConfigMapEnvSource": ("name",),
    "ConfigMapKeySelector": ("name",),
    "ConfigMapProjection": ("name",),
    "ConfigMapVolumeSource": ("name",),
    "CephFSVolumeSource": ("monitors",),
    "ExecAction": ("command",),
    "HostAlias": ("ip",),
    # A template may do without, as what controls it may fill it in; a pod may not.
    "ImageVolumeSource": ("reference",),
    "LocalObjectReference": ("name",),
    "NodeSelector": ("nodeSelectorTerms",),
    "ObjectReference": ("name",),
    "PodDNSConfigOption": ("name",),
    "RBDVolumeSource": ("monitors",),
    "SecretEnvSource": ("name",),
    "SecretKeySelector": ("name",),
    "SecretProjection": ("name",),
    "SecretVolumeSource": ("secretName",),
    "StorageOSVolumeSource": ("volumeName",),
    "EphemeralVolumeSource": ("volumeClaimTemplate",),
    "PersistentVolumeClaimSpec": ("accessModes",),
}
# Required fields that may be empty.
MAY_BE_EMPTY = frozenset({("HTTPHeader", "value"), ("Sysctl", "value"), ("RoleRef", "apiGroup")})

_PROBE = ("exec", "grpc", "httpGet", "tcpSocket")
_LIFECYCLE = ("exec", "httpGet", "sleep", "tcpSocket")
# Types of which so many of these fields must be there: (at least, at most, the fields).
ONE_OF: Mapping[str, tuple[int, int, tuple[str, ...]]] = {
    "DeviceRequest": (1, 1, ("exactly", "firstAvailable")),
    "EnvFromSource": (1, 1, ("configMapRef", "secretRef")),
    "EnvVarSource": (
        1,
        1,
        ("configMapKeyRef", "fieldRef", "fileKeyRef", "resourceFieldRef", "secretKeyRef"),
    ),
    "DownwardAPIVolumeFile": (1, 1, ("fieldRef", "resourceFieldRef")),
    "LifecycleHandler": (1, 1, _LIFECYCLE),
    "NetworkPolicyPeer": (1, 3, ("ipBlock", "namespaceSelector", "podSelector")),
    "PodResourceClaim": (1, 1, ("resourceClaimName", "resourceClaimTemplateName")),
    "PodSchedulingGroup": (1, 1, ("podGroupName",)),
    "Probe": (1, 1, _PROBE),
    "VolumeProjection": (
        0,
        1,
        ("clusterTrustBundle", "configMap", "downwardAPI", "podCertificate", "secret", "serviceAccountToken"),
    ),
    "FlockerVolumeSource": (1, 1, ("datasetName", "datasetUUID")),
    "FCVolumeSource": (1, 1, ("targetWWNs", "wwids")),
    "ClusterTrustBundleProjection": (1, 1, ("name", "signerName")),
}
