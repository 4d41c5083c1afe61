"""Whatever stands in a kubeconfig, it is used or refused with a message that does not show a secret of it."""

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from fake_cluster import kubeconfig
from hypothesis import given, settings
from hypothesis import strategies as st

from inferfleet.clusters.connections.ask import connect
from inferfleet.clusters.connections.exec_command import CommandError
from inferfleet.clusters.connections.git import Repository
from inferfleet.clusters.connections.kubeconfig import KubeconfigError, read_kubeconfigs
from inferfleet.desired.values import Connection

SECRET = "hunter2hunter2"
EAST = Connection("east", "existing/east", "active", config_key="east")
ELSEWHERE = Repository(Path("/nonexistent/project"), trusted=False)
EXEC = {
    "apiVersion": "v1",
    "command": "/nonexistent/helper",
    "args": [SECRET],
    "env": [{"name": "A", "value": SECRET}],
    "provideClusterInfo": True,
}
USERS: list[dict[str, Any]] = [
    {"token": SECRET},
    {"tokenFile": "/nonexistent/token"},
    {"exec": EXEC},
    {"username": "me", "password": SECRET},
    {"client-certificate-data": SECRET, "client-key-data": SECRET},
    {"auth-provider": {"name": "oidc", "config": {"id-token": SECRET, "idp-issuer-url": "http://x"}}},
]
EXTENSION = {"name": "client.authentication.k8s.io/exec", "extension": {"a": 1}}
MORE = {
    "insecure-skip-tls-verify": True,
    "proxy-url": "http://proxy:3128",
    "tls-server-name": "east",
    "extensions": [EXTENSION],
}
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from(["", "a", "http://", "https://[", "\x00", "é\u202e"]),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["name", "a"]), inner, max_size=2)
    ),
    max_leaves=4,
)


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if at:
        yield at
    for key, inner in (
        value.items() if isinstance(value, dict) else enumerate(value if isinstance(value, list) else ())
    ):
        yield from places(inner, (*at, key))


@settings(max_examples=300)
@given(st.data())
def test_any_kubeconfig_is_used_or_refused(data: st.DataObject) -> None:
    config = copy.deepcopy(kubeconfig("https://127.0.0.1:1", **data.draw(st.sampled_from(USERS))))
    config["clusters"][0]["cluster"] |= copy.deepcopy(MORE)
    for _ in range(data.draw(st.integers(1, 2))):
        *steps, last = data.draw(st.sampled_from(list(places(config))))
        parent = config
        for step in steps:
            parent = parent[step]
        parent[last] = data.draw(values)
    kubeconfigs = read_kubeconfigs([EAST], {"east": yaml.safe_dump(config)}, ELSEWHERE)
    told = [*map(str, kubeconfigs.problems.values()), *map(str, kubeconfigs.warnings)]
    for text in kubeconfigs.texts.values():
        try:
            connect(EAST, text, seconds=1)
        except (KubeconfigError, CommandError) as error:
            told.append(str(error))
    assert not any(SECRET in text for text in told)
