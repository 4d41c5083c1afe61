from pathlib import Path
from typing import Any

import pytest
import yaml
from fake_cluster import kubeconfig

from inferfleet.desired.values import Connection
from inferfleet.reach.kubeconfig import read_kubeconfigs

KUBECONFIG, CONTEXT = "spec.cluster.existing.kubeconfig", "spec.cluster.existing.context"


def at(path: Path, *, context: str | None = None, state: Any = "active") -> Connection:
    return Connection("east", "existing/east", state, kubeconfig=path, context=context)


def test_a_kubeconfig_without_file_names_is_passed_on_as_it_was_written(tmp_path: Path) -> None:
    file = tmp_path / "east.kubeconfig"
    file.write_text("# ours\n" + yaml.safe_dump(kubeconfig("https://east")))
    assert read_kubeconfigs([at(file)], {}) == ({"east": file.read_text()}, {})


def test_file_names_become_absolute_because_the_text_travels_without_its_folder(tmp_path: Path) -> None:
    file = tmp_path / "east.kubeconfig"
    config = kubeconfig("https://east", tokenFile="token", exec={"command": "./helper"})
    config["clusters"][0]["cluster"]["certificate-authority"] = "/pki/ca.crt"
    file.write_text(yaml.safe_dump(config))
    config["users"][0]["user"] = {"tokenFile": f"{tmp_path}/token", "exec": {"command": f"{tmp_path}/helper"}}
    texts, problems = read_kubeconfigs([at(file)], {})
    assert (yaml.safe_load(texts["east"]), problems) == (config, {})


def test_texts_of_configuration_keys_are_taken_as_given() -> None:
    text = yaml.safe_dump(kubeconfig("https://east"))
    connection = Connection("east", "existing/east", "active", config_key="eastKubeconfig")
    assert read_kubeconfigs([connection], {"eastKubeconfig": text}) == ({"east": text}, {})
    _, problems = read_kubeconfigs([connection], {})
    assert problems["east"].what == (
        "cluster 'east': the stack's configuration has no key 'eastKubeconfig' "
        "(pulumi config set --secret eastKubeconfig < kubeconfig gives it one)"
    )


def test_clusters_given_up_may_lack_their_kubeconfig(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    assert read_kubeconfigs([at(gone, state="lost"), at(gone, state="abandoned")], {}) == ({}, {})


@pytest.mark.parametrize(
    ("content", "context", "what", "path"),
    [
        (
            None,
            None,
            "cluster 'east': kubeconfig FILE cannot be read (No such file or directory)",
            KUBECONFIG,
        ),
        (b"\xff\xfe\x00", None, "cluster 'east': kubeconfig FILE is not a text file", KUBECONFIG),
        (b"a: [", None, "cluster 'east': kubeconfig FILE: it is not valid YAML", KUBECONFIG),
        (
            b"- 1",
            None,
            "cluster 'east': kubeconfig FILE: it is not a kubeconfig "
            "(a mapping with clusters, contexts and users)",
            KUBECONFIG,
        ),
        (
            b"clusters: []",
            None,
            "cluster 'east': kubeconfig FILE: it has no current-context, and the document names no context",
            CONTEXT,
        ),
        (
            yaml.safe_dump(kubeconfig("https://east")).encode(),
            "prod",
            "cluster 'east': kubeconfig FILE: it has no context 'prod' (it has: it)",
            CONTEXT,
        ),
        (
            yaml.safe_dump(kubeconfig("https://east") | {"users": 3}).encode(),
            None,
            "cluster 'east': kubeconfig FILE: it has no user 'it' (it has: none)",
            KUBECONFIG,
        ),
        (
            yaml.safe_dump(kubeconfig("")).encode(),
            None,
            "cluster 'east': kubeconfig FILE: its cluster 'it' has no server address",
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
    texts, problems = read_kubeconfigs([at(file, context=context)], {})
    problem = problems["east"]
    assert (texts, problem.what, problem.path) == ({}, what.replace("FILE", str(file)), path)
