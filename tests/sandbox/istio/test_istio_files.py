"""What istiod and the proxies of Gateways are told, so that they run beside a simulated cluster."""

import json
from typing import Any

import yaml

from sandbox.istio import control_plane, injection
from sandbox.istio.bootstrap import POD_LABEL, bootstrap, own_address

POD: dict[str, Any] = {
    "metadata": {"name": "g-istio-7c-x", "namespace": "infra", "uid": "u1", "labels": {"gateway": "g"}},
    "status": {"podIP": "10.4.0.9"},
}
CHART = """
_internal_defaults_do_not_set:
  global: {hub: testing, tag: latest, proxy: {image: proxyv2}}
  sidecarInjectorWebhook: {templates: {}}
  revision: ""
  cni: {enabled: false}
  env: {}
  gateways: {securityContext: {}, seccompProfile: {}, name: unused}
  replicaCount: 1
"""


def test_values_of_the_chart_are_picked_as_its_config_map_picks_them() -> None:
    assert json.loads(injection.values(CHART)) == {
        "global": {"hub": "docker.io/istio", "tag": injection.TAG, "proxy": {"image": "proxyv2"}},
        "sidecarInjectorWebhook": {"templates": {}},
        "revision": "",
        "pilot": {"cni": {"enabled": False}, "env": {}},
        "gateways": {"securityContext": {}, "seccompProfile": {}},
    }


def test_pods_of_gateways_have_a_template_and_no_pod_gets_a_sidecar() -> None:
    read = yaml.safe_load(injection.config("kind: Deployment\n"))
    assert (read["templates"], read["policy"]) == ({"kube-gateway": "kind: Deployment\n"}, "disabled")


def test_a_proxy_says_who_it_is() -> None:
    variables = {"ISTIO_META_WORKLOAD_NAME": "g-istio", "ISTIO_META_NODE_NAME": "cpu.east", "POD_NAME": "x"}
    assert bootstrap(POD, variables, version="1.31.1")["node"] == {
        "id": "router~10.4.0.9~g-istio-7c-x.infra~infra.svc.cluster.local",
        "cluster": "g-istio.infra",
        "metadata": {
            "WORKLOAD_NAME": "g-istio",
            "NODE_NAME": "cpu.east",
            "CLUSTER_ID": "Kubernetes",
            "INSTANCE_IPS": "10.4.0.9",
            "ISTIO_VERSION": "1.31.1",
            "LABELS": {"gateway": "g"},
            "NAME": "g-istio-7c-x",
            "NAMESPACE": "infra",
            "STATIC_LABELS": {POD_LABEL: "g-istio-7c-x"},
        },
    }


def test_what_a_proxy_listens_at_is_its_pod_s_address_alone() -> None:
    [ready] = bootstrap(POD, {}, version="1")["static_resources"]["listeners"]
    assert ready["address"] == {"socket_address": {"address": "10.4.0.9", "port_value": 15021}}
    spec = own_address(POD)["spec"]
    assert spec["workloadSelector"] == {"labels": {POD_LABEL: "g-istio-7c-x"}}
    [patch] = spec["configPatches"]
    assert patch["patch"]["value"] == {"address": {"socket_address": {"address": "10.4.0.9"}}}


def test_istiod_is_given_none_of_the_users_own_variables() -> None:
    own = {
        "HOME": "/home/me",
        "PATH": "/bin",
        "PILOT_ENABLE_GATEWAY_API": "false",
        "AWS_SECRET_ACCESS_KEY": "s",
    }
    given = control_plane.environment(own)
    assert set(given) & set(own) == {"HOME"}
    assert given == control_plane.environment({}) | {"HOME": "/home/me"}
