"""What levels of the Pod Security Standards forbid, field by field."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferfleet.documents.pods.security import Forbidden, forbidden, listed
from inferfleet.documents.wording import path_of

APPARMOR = "container.apparmor.security.beta.kubernetes.io/engine"


def _template(*, annotations: dict[str, str] | None = None, engine: Any = None, **spec: Any) -> Any:
    containers = [{"name": "log"}, {"name": "engine", **(engine or {})}]
    return {"metadata": {"annotations": annotations or {}}, "spec": {"containers": containers, **spec}}


def _engine(**context: Any) -> Any:
    return _template(engine={"securityContext": context})


HERE = "spec.containers[1].securityContext"
CONTEXT = "spec.securityContext"


@pytest.mark.parametrize(
    ("template", "path", "owner", "what"),
    [
        (_engine(privileged=True), f"{HERE}.privileged", "container engine", "privileged: true"),
        (
            _engine(capabilities={"add": ["CHOWN", "IPC_LOCK"]}),
            f"{HERE}.capabilities.add[1]",
            "container engine",
            "capabilities.add: IPC_LOCK",
        ),
        (_engine(procMount="Unmasked"), f"{HERE}.procMount", "container engine", "procMount: Unmasked"),
        (
            _engine(seccompProfile={"type": "Unconfined"}),
            f"{HERE}.seccompProfile.type",
            "container engine",
            "seccompProfile.type: Unconfined",
        ),
        (
            _engine(appArmorProfile={"type": "Unconfined"}),
            f"{HERE}.appArmorProfile.type",
            "container engine",
            "appArmorProfile.type: Unconfined",
        ),
        (
            _engine(windowsOptions={"hostProcess": True}),
            f"{HERE}.windowsOptions.hostProcess",
            "container engine",
            "windowsOptions.hostProcess: true",
        ),
        (
            _template(engine={"ports": [{"containerPort": 8000, "hostPort": 80}]}),
            "spec.containers[1].ports[0].hostPort",
            "container engine",
            "ports.hostPort: 80",
        ),
        (
            _template(engine={"livenessProbe": {"httpGet": {"host": "10.0.0.1", "port": 80}}}),
            "spec.containers[1].livenessProbe.httpGet.host",
            "container engine",
            "livenessProbe.httpGet.host: '10.0.0.1'",
        ),
        (
            _template(engine={"lifecycle": {"preStop": {"tcpSocket": {"host": "a", "port": 80}}}}),
            "spec.containers[1].lifecycle.preStop.tcpSocket.host",
            "container engine",
            "lifecycle.preStop.tcpSocket.host: 'a'",
        ),
        (_template(hostPID=True), "spec.hostPID", "the pod", "hostPID: true"),
        (_template(hostNetwork=True), "spec.hostNetwork", "the pod", "hostNetwork: true"),
        (_template(hostIPC=True), "spec.hostIPC", "the pod", "hostIPC: true"),
        (
            _template(volumes=[{"name": "a", "emptyDir": {}}, {"name": "cache", "hostPath": {"path": "/"}}]),
            "spec.volumes[1].hostPath",
            "volume cache",
            "hostPath: a folder of the node",
        ),
        (
            _template(securityContext={"sysctls": [{"name": "kernel.msgmax", "value": "1"}]}),
            f"{CONTEXT}.sysctls[0].name",
            "the pod",
            "sysctls.name: kernel.msgmax",
        ),
        (
            _template(securityContext={"seLinuxOptions": {"type": "spc_t"}}),
            f"{CONTEXT}.seLinuxOptions.type",
            "the pod",
            "seLinuxOptions.type: spc_t",
        ),
        (
            _template(securityContext={"seLinuxOptions": {"user": "root"}}),
            f"{CONTEXT}.seLinuxOptions.user",
            "the pod",
            "seLinuxOptions.user: 'root'",
        ),
        (
            _template(annotations={APPARMOR: "unconfined"}),
            "metadata.annotations",
            "the pod",
            f"metadata.annotations: {APPARMOR}",
        ),
        (
            _template(initContainers=[{"name": "tune", "securityContext": {"privileged": True}}]),
            "spec.initContainers[0].securityContext.privileged",
            "container tune",
            "privileged: true",
        ),
    ],
)
def test_what_the_baseline_forbids_is_named_with_its_place(
    template: Any, path: str, owner: str, what: str
) -> None:
    said = [
        (path_of(found.field_path), found.part, found.what) for found in forbidden(template, level="baseline")
    ]
    assert said == [(path, owner, what)]


@pytest.mark.parametrize(
    "template",
    [
        _template(),
        _engine(privileged=False, runAsUser=0, procMount="Default", capabilities={"add": ["CHOWN"]}),
        _engine(seccompProfile={"type": "Localhost", "localhostProfile": "a"}),
        _template(hostPID=False, volumes=[{"name": "m", "persistentVolumeClaim": {"claimName": "m"}}]),
        _template(securityContext={"sysctls": [{"name": "net.ipv4.tcp_rmem", "value": "1"}]}),
        _template(annotations={APPARMOR: "runtime/default"}),
        {"spec": {"containers": "none"}},
    ],
)
def test_what_the_baseline_allows_is_not_named(template: Any) -> None:
    assert list(forbidden(template, level="baseline")) == []


@pytest.mark.parametrize(
    ("template", "what"),
    [
        (_engine(capabilities={"add": ["CHOWN", "NET_BIND_SERVICE"]}), "capabilities.add: CHOWN"),
        (_engine(allowPrivilegeEscalation=True), "allowPrivilegeEscalation: true"),
        (_engine(runAsNonRoot=False), "runAsNonRoot: false"),
        (_template(securityContext={"runAsUser": 0}), "runAsUser: 0"),
        (_template(volumes=[{"name": "m", "nfs": {"server": "a", "path": "/"}}]), "type: nfs"),
    ],
)
def test_level_restricted_forbids_more(template: Any, what: str) -> None:
    assert list(forbidden(template, level="baseline")) == []
    assert [found.what for found in forbidden(template, level="restricted")] == [what]


def test_all_that_is_forbidden_is_one_line_with_each_owner_once() -> None:
    found = [Forbidden("a", "x", "1", ("b",)), Forbidden("c", "y", "2", ()), Forbidden("a", "z", "3", ())]
    assert listed([*found, *found]) == "a has x: 1, z: 3; c has y: 2"


_WORDS = (
    *("name", "securityContext", "capabilities", "add", "sysctls", "seccompProfile", "type", "procMount"),
    *("seLinuxOptions", "windowsOptions", "ports", "hostPort", "env", "value", "args", "livenessProbe"),
    *("tcpSocket", "host", "volumes", "hostPath", "annotations", "hostPID", "privileged"),
)
_ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_WORDS), inner, max_size=3),
    max_leaves=8,
)
_FIELDS = st.dictionaries(st.sampled_from(_WORDS), _ANYTHING, max_size=4)


@given(_FIELDS, _FIELDS, _FIELDS)
def test_a_template_of_any_shape_can_be_looked_at(pod: Any, first: Any, second: Any) -> None:
    template = {"metadata": pod, "spec": {**pod, "containers": [first, second], "initContainers": [second]}}
    for found in forbidden(template, level="restricted"):
        assert found.field_path[0] in ("spec", "metadata")
        assert found.what
