"""Kubeconfigs are read once, from regular files, and what is handed on names no certificate file."""

import base64
import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from fake_cluster import kubeconfig

from inferfleet.clusters.connections.git import Repository
from inferfleet.clusters.connections.kubeconfig import FORM, Kubeconfigs, read_kubeconfigs
from inferfleet.desired.values import Connection

KUBECONFIG, CONTEXT = "spec.cluster.existing.kubeconfig", "spec.cluster.existing.context"
CERTIFICATE = "client-certificate"
# Nothing of these tests lies in it.
ELSEWHERE = Repository(Path("/nonexistent/project"), trusted=False)
GIVEN = Connection("east", "existing/east", "active", config_key="east")


def at(path: Path, *, context: str | None = None, state: Any = "active") -> Connection:
    return Connection("east", "existing/east", state, kubeconfig=path, context=context)


def read(
    *connections: Connection, given: dict[str, str] | None = None, repository: Repository = ELSEWHERE
) -> Kubeconfigs:
    return read_kubeconfigs(connections, given or {}, repository)


def why(text: str, context: str | None = None) -> str:
    """Why a kubeconfig of this text is not used."""
    connection = Connection("east", "existing/east", "active", config_key="east", context=context)
    problem = read(connection, given={"east": text}).problems["east"]
    return problem.what.removeprefix("cluster 'east': kubeconfig configuration key east")


def test_a_kubeconfig_without_file_names_is_passed_on_as_it_was_written(tmp_path: Path) -> None:
    file = tmp_path / "east.kubeconfig"
    file.write_text("# ours\n" + yaml.safe_dump(kubeconfig("https://east")))
    assert read(at(file)) == Kubeconfigs({"east": file.read_text()}, {})


def test_the_text_that_is_handed_on_needs_no_file_but_those_that_change_meanwhile(tmp_path: Path) -> None:
    """Of other contexts, whose files may be missing, nothing is handed on."""
    file = tmp_path / "east.kubeconfig"
    config = kubeconfig(
        "https://east",
        tokenFile="token",
        exec={"command": "./helper"},
        **{"client-certificate": "pki/me.crt"},
    )
    config["clusters"][0]["cluster"]["certificate-authority"] = str(tmp_path / "ca.crt")
    config["users"].append({"name": "other", "user": {"client-key": "missing.key"}})
    file.write_text(yaml.safe_dump(config))
    (tmp_path / "pki").mkdir()
    (tmp_path / "pki/me.crt").write_text("me")
    (tmp_path / "ca.crt").write_text("ca")
    cluster = {"server": "https://east", "certificate-authority-data": base64.b64encode(b"ca").decode()}
    user = {
        "tokenFile": f"{tmp_path}/token",
        "exec": {"command": f"{tmp_path}/helper"},
        f"{CERTIFICATE}-data": base64.b64encode(b"me").decode(),
    }
    alone = kubeconfig("https://east", **user) | {"clusters": [{"name": "it", "cluster": cluster}]}
    kubeconfigs = read(at(file))
    assert (yaml.safe_load(kubeconfigs.texts["east"]), kubeconfigs.problems) == (alone, {})


def test_data_comes_before_the_file_as_for_kubectl() -> None:
    user = {"client-key": "/nonexistent/key", "client-key-data": "a2V5"}
    texts = read(GIVEN, given={"east": yaml.safe_dump(kubeconfig("https://east", **user))}).texts
    assert yaml.safe_load(texts["east"])["users"][0]["user"] == {"client-key-data": "a2V5"}


def test_texts_of_configuration_keys_are_taken_as_given() -> None:
    text = yaml.safe_dump(kubeconfig("https://east"))
    assert read(GIVEN, given={"east": text}) == Kubeconfigs({"east": text}, {})
    problem = read(GIVEN).problems["east"]
    assert (problem.what, problem.next_step) == (
        "cluster 'east': kubeconfig configuration key east is not set in the stack",
        "Set it: pulumi config set --secret inferfleet:east < FILE",
    )


def test_clusters_given_up_may_lack_their_kubeconfig(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    assert read(at(gone, state="lost"), at(gone, state="abandoned")) == Kubeconfigs({}, {})


@pytest.mark.parametrize(
    ("content", "context", "what", "path"),
    [
        (None, None, " cannot be read (No such file or directory)", KUBECONFIG),
        (b"\xff\xfe\x00", None, " is not a text file", KUBECONFIG),
        (b"b: 1\na: [hunter2", None, ":2: it is not valid YAML", KUBECONFIG),
        (b"", None, ": it is empty", KUBECONFIG),
        (
            b"- 1",
            None,
            ": it is not a kubeconfig (a mapping with clusters, contexts and users)",
            KUBECONFIG,
        ),
        (b"clusters: []", None, ": it has no current-context, and the document names no context", CONTEXT),
        (
            yaml.safe_dump(kubeconfig("https://east")).encode(),
            "prod",
            ": it has no context 'prod' (it has: it)",
            CONTEXT,
        ),
        (
            yaml.safe_dump(kubeconfig("https://east") | {"users": 3}).encode(),
            None,
            ": it has no user 'it' (it has: none)",
            KUBECONFIG,
        ),
        (
            yaml.safe_dump(kubeconfig("")).encode(),
            None,
            ":4: its cluster 'it' has no server address",
            KUBECONFIG,
        ),
    ],
)
def test_a_kubeconfig_that_cannot_be_used_is_named_with_the_reason(
    tmp_path: Path, content: bytes | None, context: str | None, what: str, path: str
) -> None:
    file = tmp_path / "east.kubeconfig"
    if content is not None:
        file.write_bytes(content)
    kubeconfigs = read(at(file, context=context))
    problem = kubeconfigs.problems["east"]
    expected = f"cluster 'east': kubeconfig {file}{what}"
    assert (kubeconfigs.texts, problem.what, problem.path) == ({}, expected, path)


@pytest.mark.parametrize(
    ("text", "other"),
    [
        (
            "apiVersion: v1\nkind: Secret\ndata: {a: hunter2}",
            "a Kubernetes Secret, which may hold one in its data",
        ),
        ('{"type": "service_account", "private_key": "hunter2"}', "a key of a Google service account"),
        ("apiVersion: inferfleet.dev/v1alpha1\nkind: InferenceCluster", "a document of inferfleet"),
        ('{"kind": "ExecCredential", "status": {"token": "hunter2"}}', "what a credential command prints"),
        ("kind: hunter2", "a Kubernetes object of another kind"),
    ],
)
def test_what_is_something_else_is_called_by_its_name_and_the_form_is_shown(text: str, other: str) -> None:
    problem = read(GIVEN, given={"east": text}).problems["east"]
    assert (problem.what, problem.next_step) == (
        f"cluster 'east': kubeconfig configuration key east: it is {other}, not a kubeconfig",
        FORM,
    )


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (os.mkfifo, " is a pipe, not a regular file"),
        (Path.mkdir, " is a folder, not a regular file"),
        (lambda path: path.symlink_to("/dev/zero"), " is a device, not a regular file"),
        (lambda path: path.write_bytes(b"#" * (1024 * 1024 + 1)), " is larger than 1 MiB"),
        (lambda path: path.symlink_to(path), " cannot be read (Too many levels of symbolic links)"),
    ],
)
@pytest.mark.parametrize("names", ["kubeconfig", "client-key"])
def test_only_regular_files_of_limited_size_are_read(
    tmp_path: Path, make: Any, what: str, names: str
) -> None:
    file, place = tmp_path / "east.kubeconfig", tmp_path / names
    make(place)
    file.write_text(yaml.safe_dump(kubeconfig("https://east", **{"client-key": str(place)})))
    problem = read(at(place if names == "kubeconfig" else file)).problems["east"]
    of_key = "" if names == "kubeconfig" else f": its client-key {place}"
    expected = place if names == "kubeconfig" else file
    assert problem.what == f"cluster 'east': kubeconfig {expected}{of_key}{what}"


SECRETS = {
    "token": "hunter2",
    "tokenFile": "/hunter2",
    "client-certificate-data": "hunter2",
    "client-key": "/hunter2",
    "username": "hunter2",
    "exec": {"command": "hunter2"},
    "auth-provider": {"name": "oidc", "config": {"id-token": "hunter2"}},
}


@pytest.mark.parametrize("kind", SECRETS)
def test_credentials_of_every_kind_are_refused_without_tls(kind: str) -> None:
    text = yaml.safe_dump(kubeconfig("http://east", **{kind: SECRETS[kind]}))
    what = f"its server http://east is asked without TLS, and credentials ({kind}) are never sent so"
    assert why(text) == f", line 4: {what}"


def test_without_credentials_plain_http_is_fine_as_for_a_proxy_of_kubectl() -> None:
    text = yaml.safe_dump(kubeconfig("http://127.0.0.1:8001"))
    assert read(GIVEN, given={"east": text}) == Kubeconfigs({"east": text}, {})


EAST = {"server": "https://east"}
BARE = "no server address"
OF_SERVER = "the server address of its cluster 'it' has"
WRONG: list[tuple[dict[str, Any], str, Any, str]] = [
    (EAST, "server", "https://me:hunter2@east", f"{OF_SERVER} a user name or password in it"),
    (EAST, "server", "https://east/?a=hunter2", f"{OF_SERVER} more than a host and a path"),
    (EAST, "server", "https://east\nhunter2", f"its cluster 'it' has {BARE}"),
    (EAST, "server", "https://east:99999", f"its cluster 'it' has {BARE}"),
    (EAST, "server", 3, f"its cluster 'it' has {BARE}"),
    (EAST, "insecure-skip-tls-verify", "hunter2", "its insecure-skip-tls-verify is neither true nor false"),
    (EAST, "proxy-url", "ftp://hunter2", "its proxy-url is no address with http://, https:// or socks5://"),
    ({}, "token", 123456789, "its token is not text; put it in quotes"),
    ({}, "tokenFile", "token", "its tokenFile token is relative, and its text is in no folder"),
    ({}, "auth-provider", "hunter2", "its auth-provider is not a mapping"),
    (
        {},
        "auth-provider",
        {"name": "gcp", "config": {"cmd-path": "hunter2"}},
        "its auth-provider gcp was removed from Kubernetes in 1.26; use exec",
    ),
    (
        {},
        "exec",
        {"command": "x", "env": [{"hunter2": "hunter2"}]},
        "its exec is not a mapping with command, args (a list) and env (a list of name and value)",
    ),
]


@pytest.mark.parametrize(("start", "key", "value", "what"), WRONG)
def test_what_client_go_would_not_take_is_said_without_its_value(
    start: dict[str, Any], key: str, value: Any, what: str
) -> None:
    """`start` is not empty where the key is one of the cluster."""
    config = kubeconfig("https://east", **({} if start else {key: value}))
    config["clusters"] = [{"name": "it", "cluster": {**EAST, **({key: value} if start else {})}}]
    told = why(yaml.safe_dump(config))
    assert (told.partition(": ")[2], "hunter2" in told) == (what, False)


def test_a_name_or_key_that_is_written_twice_is_refused_because_readers_differ_in_which_they_take() -> None:
    twice = yaml.safe_dump(kubeconfig("https://east")).replace(
        "    server:", "    server: https://x\n    server:"
    )
    assert why(twice) == ", line 5: a key or value here is not plain text, or is written twice"
    config = kubeconfig("https://east")
    config["clusters"] *= 2
    text = yaml.dump(config, Dumper=type("Plain", (yaml.SafeDumper,), {"ignore_aliases": lambda *_: True}))
    assert why(text) == ", line 6: it has two clusters of the name 'it'"


def test_an_alias_bomb_ends_at_once() -> None:
    lines = ["a0: &a0 [x]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12))]
    assert why("\n".join(lines)).endswith("it is not valid YAML")


def test_credentials_that_are_protected_badly_are_a_warning() -> None:
    config = kubeconfig("https://east", token="hunter2")
    config["clusters"][0]["cluster"] |= {
        "insecure-skip-tls-verify": True,
        "proxy-url": "http://me:hunter3@proxy:3128",
    }
    kubeconfigs = read(GIVEN, given={"east": yaml.safe_dump(config)})
    start = "cluster 'east': kubeconfig configuration key east: "
    assert [(warning.severity, warning.what.removeprefix(start)) for warning in kubeconfigs.warnings] == [
        (
            "warning",
            "whoever answers at https://east gets its credentials, because insecure-skip-tls-verify keeps "
            "the server's certificate from being checked",
        ),
        ("warning", "the password for its proxy http://proxy:3128 is sent without TLS"),
    ]
    assert "hunter" not in repr(kubeconfigs)
