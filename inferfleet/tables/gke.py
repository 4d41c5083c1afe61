"""Names of machines, images, roles and metrics on GKE, and defaults of what documents may leave out."""

PROVIDER_VERSION = "10.2.0"
# Three endpoint pickers of 4 cores fit on a node beside GKE's own pods.
SYSTEM_MACHINE_TYPE = "e2-standard-16"
IMAGE_TYPE = "COS_CONTAINERD"
# IAM alone limits what a node may do: https://cloud.google.com/kubernetes-engine/docs/how-to/access-scopes
SCOPES = ("https://www.googleapis.com/auth/cloud-platform",)
# https://cloud.google.com/kubernetes-engine/docs/how-to/service-accounts: to log, to report metrics, and to
# pull images from this project's registry. Model buckets are opened to workloads, never to nodes.
NODE_ROLES = ("roles/artifactregistry.reader", "roles/container.defaultNodeServiceAccount")
METRICS = ("CADVISOR", "DCGM", "KUBELET", "SYSTEM_COMPONENTS")
GATEWAY_CHANNEL = "CHANNEL_STANDARD"
GPU_TAINT = "nvidia.com/gpu"
# https://cloud.google.com/kubernetes-engine/docs/how-to/set-up-dra: GKE's own device plugin stays away, and
# the autoscaler knows that a pool without nodes would publish devices.
DRA_LABELS = {
    "cloud.google.com/gke-nvidia-gpu-dra-driver": "true",
    "gke-no-default-nvidia-gpu-device-plugin": "true",
    "nvidia.com/gpu.present": "true",
}
# GKE's driver of network cards runs on nodes with this label, and what the API calls the profile:
# https://docs.cloud.google.com/kubernetes-engine/docs/how-to/allocate-network-resources-dra, 2026-11-24.
NETWORK_DRIVER_LABELS = {"cloud.google.com/gke-networking-dra-driver": "true"}
AUTO_PROFILE = "auto"
# Annotations of pods with several interfaces, and how they name the cluster's own network:
# https://github.com/GoogleCloudPlatform/gke-networking-api, apis/network/v1, v0.2.11
DEFAULT_INTERFACE = "networking.gke.io/default-interface"
INTERFACES = "networking.gke.io/interfaces"
FIRST_NETWORK = "default"
RESERVATION_KEY = "compute.googleapis.com/reservation-name"
# A rack of GB200: https://cloud.google.com/ai-hypercomputer/docs/workload-policy
RACK_TOPOLOGY = "1x72"
# The largest frames of VPC networks, and what networks of RDMA have by their profile:
# https://docs.cloud.google.com/vpc/docs/rdma-network-profiles
LARGEST_MTU = 8896
# Google's health checks, also of load balancers inside of a network:
# https://cloud.google.com/load-balancing/docs/health-check-concepts#ip-ranges
HEALTH_CHECKS = ("130.211.0.0/22", "35.191.0.0/16")
# Requests for nodes of queued pools, and what pods say that take them: https://docs.cloud.google.com/
# kubernetes-engine/docs/how-to/provisioningrequest, 2026-04-08. Their older prefix is deprecated
# (kubernetes/autoscaler, cluster-autoscaler/proposals/provisioning-request.md, commit 55c37cd5).
CAPACITY_REQUEST = ("autoscaling.x-k8s.io/v1", "ProvisioningRequest")
QUEUED_CLASS = "queued-provisioning.gke.io"
CONSUMED_REQUEST = "autoscaling.x-k8s.io/consume-provisioning-request"
CONSUMED_CLASS = "autoscaling.x-k8s.io/provisioning-class-name"
# Of a PodTemplate: GKE changes it as it changes pods, and counts what nodes must have by that.
WARDEN_POLICIES = "cloud.google.com/apply-warden-policies"
NODE_POOL_LABEL = "cloud.google.com/gke-nodepool"
SPOT_LABEL = "cloud.google.com/gke-spot"
FLEX_START_LABEL = "cloud.google.com/gke-flex-start"
# A Service of type LoadBalancer inside of the network, for all of its regions: added later, the second makes
# another load balancer. https://docs.cloud.google.com/kubernetes-engine/docs/how-to/internal-load-balancing
INTERNAL_SERVICE = {
    "networking.gke.io/load-balancer-type": "Internal",
    "networking.gke.io/internal-load-balancer-allow-global-access": "true",
}
