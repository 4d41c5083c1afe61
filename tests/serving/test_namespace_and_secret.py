"""Objects that only carry a name: whose they are, and nothing that must stay secret."""

import pytest

from inferfleet.serving.metadata import namespace, secret

STACK = {"app.kubernetes.io/managed-by": "inferfleet", "inferfleet.dev/stack": "prod"}


def test_a_namespace_says_whose_it_is() -> None:
    assert namespace("ml", stack="prod") == {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "ml", "labels": STACK},
    }


@pytest.mark.parametrize(
    ("keys", "kind", "listed"),
    [
        (["token", "other"], "Opaque", "other,token"),
        ([".dockerconfigjson"], "kubernetes.io/dockerconfigjson", ".dockerconfigjson"),
        (["tls.key", "tls.crt"], "kubernetes.io/tls", "tls.crt,tls.key"),
    ],
)
def test_a_secret_has_the_type_of_its_keys_and_no_value(keys: list[str], kind: str, listed: str) -> None:
    assert secret("hf", namespace="ml", keys=keys, stack="prod") == {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": "hf",
            "namespace": "ml",
            "labels": STACK,
            "annotations": {"inferfleet.dev/keys": listed},
        },
        "type": kind,
    }
