"""What level baseline of the Pod Security Standards forbids, and secrets in plain text, part by part."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferfleet.manifests.pod.plain_secrets import in_arguments, in_variable
from inferfleet.manifests.pod.risks import Risk, risks

BASELINE = ", which level baseline of the Pod Security Standards forbids"


def _template(*, annotations: dict[str, str] | None = None, engine: Any = None, **spec: Any) -> Any:
    containers = [{"name": "log"}, {"name": "engine", **(engine or {})}]
    return {"metadata": {"annotations": annotations or {}}, "spec": {"containers": containers, **spec}}


def _engine(**context: Any) -> Any:
    return _template(engine={"securityContext": context})


HERE = "spec.containers[1].securityContext"
IN_PLACE = "spec.containers[engine].securityContext"


@pytest.mark.parametrize(
    ("template", "path", "place", "what", "next_step"),
    [
        (
            _engine(privileged=True),
            f"{HERE}.privileged",
            f"{IN_PLACE}.privileged",
            "container 'engine' is privileged, as root of its node",
            "Remove privileged",
        ),
        (
            _engine(capabilities={"add": ["CHOWN", "SYS_ADMIN", "IPC_LOCK"]}),
            f"{HERE}.capabilities.add",
            f"{IN_PLACE}.capabilities.add",
            "container 'engine' adds capabilities (SYS_ADMIN, IPC_LOCK)",
            "Remove them",
        ),
        (
            _engine(procMount="Unmasked"),
            f"{HERE}.procMount",
            f"{IN_PLACE}.procMount",
            "container 'engine' mounts /proc Unmasked",
            "Remove procMount",
        ),
        (
            _engine(seccompProfile={"type": "Unconfined"}),
            f"{HERE}.seccompProfile",
            f"{IN_PLACE}.seccompProfile",
            "container 'engine' is not confined by seccomp",
            "Use type RuntimeDefault",
        ),
        (
            _engine(windowsOptions={"hostProcess": True}),
            f"{HERE}.windowsOptions.hostProcess",
            f"{IN_PLACE}.windowsOptions.hostProcess",
            "container 'engine' runs as a process of its node",
            "Remove it",
        ),
        (
            _template(engine={"ports": [{"containerPort": 8000, "hostPort": 80}]}),
            "spec.containers[1].ports[0].hostPort",
            "spec.containers[engine].ports[8000/TCP].hostPort",
            "container 'engine' takes port 80 of its node",
            "Remove hostPort",
        ),
        (
            _template(engine={"livenessProbe": {"httpGet": {"host": "10.0.0.1", "port": 80}}}),
            "spec.containers[1].livenessProbe.httpGet.host",
            "spec.containers[engine].livenessProbe.httpGet.host",
            "container 'engine' has a probe or hook that asks host '10.0.0.1'",
            "Remove host: the pod's own address is asked then",
        ),
        (
            _template(hostPID=True),
            "spec.hostPID",
            "spec.hostPID",
            "the pod shares the processes of its node",
            "Remove hostPID",
        ),
        (
            _template(hostNetwork=True),
            "spec.hostNetwork",
            "spec.hostNetwork",
            "the pod shares the network of its node",
            "Remove hostNetwork",
        ),
        (
            _template(hostIPC=True),
            "spec.hostIPC",
            "spec.hostIPC",
            "the pod shares the inter-process communication of its node",
            "Remove hostIPC",
        ),
        (
            _template(volumes=[{"name": "a", "emptyDir": {}}, {"name": "cache", "hostPath": {"path": "/"}}]),
            "spec.volumes[1].hostPath",
            "spec.volumes[cache].hostPath",
            "volume 'cache' is a folder of the node",
            "Use an emptyDir or a PersistentVolumeClaim",
        ),
        (
            _template(securityContext={"sysctls": [{"name": "kernel.msgmax", "value": "1"}]}),
            "spec.securityContext.sysctls[0]",
            "spec.securityContext.sysctls[kernel.msgmax]",
            "the pod sets the kernel parameter kernel.msgmax",
            "Remove it, or set it on the nodes",
        ),
        (
            _template(securityContext={"seLinuxOptions": {"type": "spc_t"}}),
            "spec.securityContext.seLinuxOptions",
            "spec.securityContext.seLinuxOptions",
            "the pod chooses its own SELinux user, role or type",
            "Remove it",
        ),
        (
            _template(
                annotations={"container.apparmor.security.beta.kubernetes.io/engine": "unconfined"},
            ),
            'metadata.annotations["container.apparmor.security.beta.kubernetes.io/engine"]',
            'metadata.annotations["container.apparmor.security.beta.kubernetes.io/engine"]',
            "the annotation leaves container 'engine' unconfined by AppArmor",
            "Remove it",
        ),
        (
            _template(initContainers=[{"name": "tune", "securityContext": {"privileged": True}}]),
            "spec.initContainers[0].securityContext.privileged",
            "spec.initContainers[tune].securityContext.privileged",
            "container 'tune' is privileged, as root of its node",
            "Remove privileged",
        ),
    ],
)
def test_what_the_baseline_forbids_is_named_with_its_place(
    template: Any, path: str, place: str, what: str, next_step: str
) -> None:
    assert list(risks(template)) == [Risk(path, place, f"{what}{BASELINE}", next_step)]


@pytest.mark.parametrize(
    "template",
    [
        _template(),
        _engine(privileged=False, runAsUser=0, procMount="Default", capabilities={"add": ["CHOWN"]}),
        _engine(seccompProfile={"type": "Localhost", "localhostProfile": "a"}),
        _engine(capabilities={"add": "NET_ADMIN"}, seLinuxOptions="spc_t"),
        _template(hostPID=False, volumes=[{"name": "m", "persistentVolumeClaim": {"claimName": "m"}}]),
        _template(securityContext={"sysctls": [{"name": "net.ipv4.tcp_rmem", "value": "1"}]}),
        _template(annotations={"container.apparmor.security.beta.kubernetes.io/engine": "runtime/default"}),
        {"spec": {"containers": "none"}},
    ],
)
def test_what_the_baseline_allows_is_not_named(template: Any) -> None:
    assert list(risks(template)) == []


def test_secrets_in_variables_and_arguments_are_named_without_their_values() -> None:
    canary = "canary-Zx81-value"
    template = _template(
        engine={
            "env": [{"name": "MODE", "value": "fast"}, {"name": "HF_TOKEN", "value": canary}],
            "args": ["--model=a", f"--api-key={canary}"],
        }
    )
    named = list(risks(template))
    assert named == [
        Risk(
            "spec.containers[1].env[1].value",
            "spec.containers[engine].env[HF_TOKEN].value",
            "variable 'HF_TOKEN' of container 'engine' has the name of a secret, "
            "and its value is in plain text",
            "Put it into a Secret (inferfleet:secrets), read it by valueFrom.secretKeyRef, "
            "and rotate it if others can read this",
        ),
        Risk(
            "spec.containers[1].args[1]",
            "spec.containers[engine].args[--api-key]",
            "item 1 of args of container 'engine' is the value of --api-key, in plain text",
            "Read it from a variable with valueFrom.secretKeyRef, as $(NAME) here, "
            "and rotate it if others can read this",
        ),
    ]
    assert canary not in repr(named)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("MODEL", "hf_" + "a" * 34, "holds a token of Hugging Face in plain text"),
        ("X", "sk-proj-" + "a1" * 12, "holds an API key in plain text"),
        ("X", "AKIA" + "Q7" * 8, "holds an access key of AWS in plain text"),
        ("X", "-----BEGIN RSA PRIVATE KEY-----\nMII", "holds a private key in plain text"),
        ("X", "https://me:hunter22@mirror.example.com", "holds a URL with a password in plain text"),
        ("DB_PASSWORD", "correct horse", "has the name of a secret, and its value is in plain text"),
        ("api-key", "0123456789abcdef", "has the name of a secret, and its value is in plain text"),
        ("TOKEN_A", "0123456789abcdef", "has the name of a secret, and its value is in plain text"),
        ("MAX_NUM_BATCHED_TOKENS", "8192-or-so", None),
        ("TOKENIZER", "mistral-common", None),
        ("TOKENIZERS_PARALLELISM", "disabled", None),
        ("HF_TOKEN_PATH", "secrets/token", None),
        ("HF_TOKEN", "/run/secrets/token", None),
        ("HF_TOKEN", "$(OTHER_TOKEN)", None),
        ("OPENAI_API_KEY", "EMPTY", None),
        ("EOS_TOKEN", "end-of-text", None),
        ("STOP_TOKEN", "<|endoftext|>", None),
        ("MODEL", "organisation/task-sk-model-of-some-length", None),
        ("HF_TOKEN", None, None),
        ("X", "eyJ" + "a" * 20 + ".eyJ" + "b" * 20 + ".c", "holds a JSON Web Token in plain text"),
        ("PGPASSWORD", "correct horse", "has the name of a secret, and its value is in plain text"),
        ("OAUTH_TOKEN_ENDPOINT", "https://login.example.com/token", None),
        ("SSH_PUBLIC_KEY", "ssh-ed25519 AAAAC3NzaC1lZDI1", None),
        ("HF_SECRET_ARN", "arn:aws:secretsmanager:eu-west-1:1:secret:hf", None),
        ("API_KEY", "projects/p/secrets/api-key/versions/1", None),
        ("OPENAI_API_KEY", "not-needed", None),
        ("API_KEY", "${VLLM_API_KEY}", None),
        ("IMAGE_TOKEN", "image-placeholder", None),
        ("CACHE_KEY_PREFIX", "lmcache-production", None),
    ],
)
def test_a_variable_is_a_secret_by_the_form_of_its_value_or_by_its_name(
    name: str, value: str | None, said: str | None
) -> None:
    assert in_variable(name, value) == said


@pytest.mark.parametrize(
    ("words", "places"),
    [
        (["--api-key", "0123456789abcdef"], [1]),
        (["--hf-token=0123456789abcdef", "--model=x"], [0]),
        (["sh", "-c", "vllm serve --api-key sk-" + "a1" * 12], [2]),
        (["--api-key", "--model=some/model"], []),
        (["--api-key=$(VLLM_API_KEY)"], []),
        (["sh", "-c", "vllm serve m --api-key 0123456789abcdef --port 8000"], [2]),
        (["sh", "-c", "vllm serve m --api_key='0123456789abcdef'; sleep 1"], [2]),
        (["sh", "-c", 'vllm serve m --api-key "$VLLM_API_KEY" --port 8000'], []),
        (["--api-key=$VLLM_API_KEY", "--stop-token", "[END_OF_TURN]", "--sep-token=separator"], []),
        (["--max-tokens=4096", "--token-limit", "0123456789abcdef"], []),
        (["--api-key", 12345678], []),
    ],
)
def test_an_argument_is_a_secret_by_its_form_or_by_its_flag(words: list[Any], places: list[int]) -> None:
    assert [place for place, _ in in_arguments(words)] == places


_WORDS = (
    *("name", "securityContext", "capabilities", "add", "sysctls", "seccompProfile", "type", "procMount"),
    *("seLinuxOptions", "windowsOptions", "ports", "hostPort", "env", "value", "args", "livenessProbe"),
    *("tcpSocket", "host", "volumes", "hostPath"),
)
_ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=12) | st.just("--api-key"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_WORDS), inner, max_size=3),
    max_leaves=8,
)
_FIELDS = st.dictionaries(st.sampled_from(_WORDS), _ANYTHING, max_size=4)


@given(_FIELDS, _FIELDS, _FIELDS)
def test_a_template_of_any_shape_can_be_looked_at(pod: Any, first: Any, second: Any) -> None:
    template = {"metadata": pod, "spec": {**pod, "containers": [first, second], "initContainers": [second]}}
    for risk in risks(template):
        assert risk.path.startswith("spec")
        assert risk.what
