"""The claim template of a ComputeDomain is as NVIDIA's controller writes it, and ends with its domain."""

from sandbox.devices.compute_domains import template


def test_the_template_claims_one_channel_of_the_domain() -> None:
    domain = {
        "kind": "ComputeDomain",
        "metadata": {"name": "r1", "namespace": "ml", "uid": "u-1"},
        "spec": {"numNodes": 0, "channel": {"resourceClaimTemplate": {"name": "r1-channel"}}},
    }
    api = "resource.nvidia.com/v1beta1"
    parameters = {
        "apiVersion": api,
        "kind": "ComputeDomainChannelConfig",
        "domainID": "u-1",
        "allocationMode": "Single",
    }
    assert template(domain) == {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {
            "name": "r1-channel",
            "namespace": "ml",
            "ownerReferences": [{"apiVersion": api, "kind": "ComputeDomain", "name": "r1", "uid": "u-1"}],
        },
        "spec": {
            "spec": {
                "devices": {
                    "requests": [
                        {
                            "name": "channel",
                            "exactly": {"deviceClassName": "compute-domain-default-channel.nvidia.com"},
                        }
                    ],
                    "config": [
                        {
                            "requests": ["channel"],
                            "opaque": {"driver": "compute-domain.nvidia.com", "parameters": parameters},
                        }
                    ],
                }
            }
        },
    }
