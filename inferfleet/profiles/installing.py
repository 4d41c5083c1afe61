"""What clusters get from others: definitions (CRDs) by API group, controllers by who provides gateways.

The commands that install them are those of llm-d's guides:
https://llm-d.ai/docs/dev/resources/gateway/install-crds and
https://llm-d.ai/docs/infrastructure/gateway/istio (llm-d 0.8), looked up 2026-11-24.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

_SIGS = "https://github.com/kubernetes-sigs"
_RELEASE = re.compile(r"v?(\d+)\.(\d+)\.(\d+)")


@dataclass(frozen=True)
class Definitions:
    """The CRDs of one API group, as a project releases them together.

    `annotation` of each holds its release, and `install` is the command that brings the newest that the
    guides name. `since` are the releases with which fields came that are written here, by kind and path; all
    other fields are in every release that serves the API versions of the profiles.
    """

    title: str
    annotation: str
    install: str
    since: Mapping[str, str]


GATEWAY_API = "gateway.networking.k8s.io"
INFERENCE = "inference.networking.k8s.io"
# Read in config/crd of both projects, in each release from v1.0.0 to v1.6.0, on 2026-11-24. The fields of the
# Gateway API are in earlier releases of its channel `experimental`, so what a cluster has is asked of its
# CRD. GKE keeps the annotations in the CRDs that it installs, also that of the InferencePool (v1.4.0 in GKE
# 1.36.0: gke-gateway-api-crds in https://github.com/gbrayut/cloud-examples).
DEFINITIONS: Mapping[str, Definitions] = MappingProxyType(
    {
        GATEWAY_API: Definitions(
            "Gateway API",
            f"{GATEWAY_API}/bundle-version",
            f"kubectl apply -f {_SIGS}/gateway-api/releases/download/v1.5.1/standard-install.yaml",
            {
                "HTTPRoute spec.rules.timeouts": "1.2.0",
                "Gateway spec.infrastructure": "1.2.0",
                "Gateway spec.infrastructure.parametersRef": "1.2.0",
            },
        ),
        INFERENCE: Definitions(
            "Gateway API Inference Extension",
            f"{INFERENCE}/bundle-version",
            f"kubectl apply -f {_SIGS}/gateway-api-inference-extension/releases/download/v1.5.0/"
            "v1-manifests.yaml",
            # More than one entry.
            {"InferencePool spec.targetPorts": "1.1.0"},
        ),
    }
)
# OpenShift's Ingress Operator owns the CRDs of the Gateway API from 4.19 on, and a ValidatingAdmissionPolicy
# lets nobody else touch them. They are those of the project, without a mark of their own, so `install` is
# told there too, and docs/guides/upgrades.md says what to do. Read in
# manifests/01-validating-admission-policy.yaml and pkg/manifests/assets/gateway-api of
# openshift/cluster-ingress-operator at acca9642, and 4.19 in
# enhancements/ingress/gateway-api-crd-life-cycle-management.md of openshift/enhancements, on 2026-11-24.
# In the annotations of CRDs that GKE installs and puts back when somebody changes them, and how newer ones
# are put there nevertheless.
GOOGLES_COMPONENT = "components.gke.io/component-name"
GOOGLES_UPGRADE = "https://github.com/GoogleCloudPlatform/gke-gateway-api/tree/main/self-upgrades"
CONTROLLERS: Mapping[str, str] = MappingProxyType(
    {"istio": "istioctl install -y --set values.pilot.env.ENABLE_GATEWAY_API_INFERENCE_EXTENSION=true"}
)


def is_older(release: str, needed: str) -> bool:
    """Return whether a release comes before the one that is needed; one that has no numbers does not.

    A candidate (v1.1.0-rc.1) counts as its release.
    """
    there, least = _RELEASE.match(release), _RELEASE.match(needed)
    return bool(there and least and _numbers(there) < _numbers(least))


def _numbers(release: re.Match[str]) -> tuple[int, ...]:
    return tuple(map(int, release.groups()))
