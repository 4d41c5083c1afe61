"""Add-ons become files in the project: made by `go` and `helm`, checked by digest, compared and written."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from inferfleet.documents.loading.project import StackFiles
from inferfleet.documents.problems import InvalidDocuments
from inferfleet.rendering.commands import module_folder
from inferfleet.rendering.render import Difference, differences, rendered, texts, write
from inferfleet.tables.addons import ADDONS

RELEASE = ADDONS["leaderWorkerSet"].releases[0]
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "sets.example.com"},
    "status": {"storedVersions": []},
}
DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "m", "namespace": "lws-system"},
}


class Programs:
    """Stand-ins for `go` and `helm` on a PATH of their own, which write down how they were called."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.module = folder / "module"
        crds = self.module / "charts" / "lws" / "crds"
        crds.mkdir(parents=True)
        (crds / "sets.yaml").write_text(yaml.safe_dump(DEFINITION))
        self.answers(Dir=str(self.module), Sum=RELEASE.digest)
        self.program("helm", f'echo "$@" > {folder}/helm.called; cat {folder}/chart.yaml')
        (folder / "chart.yaml").write_text("---\n" + yaml.safe_dump(DEPLOYMENT) + "---\n# nothing\n")

    def program(self, name: str, script: str) -> None:
        (self.folder / name).write_text(f"#!/bin/sh\nPATH=/usr/bin:/bin\n{script}\n")
        (self.folder / name).chmod(0o755)

    def answers(self, **answer: str) -> None:
        self.program("go", f"cat <<'EOF'\n{json.dumps(answer)}\nEOF")


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Programs:
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return Programs(folder)


@pytest.fixture
def files(tmp_path: Path) -> StackFiles:
    (tmp_path / "project" / "stacks" / "prod").mkdir(parents=True)
    return StackFiles(tmp_path / "project", "prod")


def test_definitions_a_namespace_and_the_chart_are_rendered(programs: Programs) -> None:
    made = rendered("leaderWorkerSet", "0.9.0", {"replicaCount": 2})
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "lws-system"}}
    definition = {key: value for key, value in DEFINITION.items() if key != "status"}
    assert made.objects == (definition, namespace, DEPLOYMENT)
    assert (made.digest, made.values) == (RELEASE.digest, {"replicaCount": 2})
    called = (programs.folder / "helm.called").read_text().split()
    assert called[:5] == ["template", "lws", f"{programs.module}/charts/lws", "--namespace", "lws-system"]
    assert called[-4:] == ["--kube-version", "1.34.0", "--is-upgrade", "--no-hooks"]


def test_what_hooks_of_a_chart_make_is_rendered_as_objects_without_their_annotations(
    programs: Programs,
) -> None:
    digest = ADDONS["envoyGateway"].releases[0].digest
    programs.answers(Dir=str(programs.module), Sum=digest)
    metadata = {"name": "certgen", "annotations": {"helm.sh/hook": "pre-install", "helm.sh/hook-weight": "1"}}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata}
    account = {"apiVersion": "v1", "kind": "ServiceAccount"}
    accounts = [account | {"metadata": {"name": "a", "annotations": {"helm.sh/hook": "x", "mine": "1"}}}]
    (programs.folder / "chart.yaml").write_text(yaml.safe_dump_all([job, *accounts]))
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "envoy-gateway-system"}}
    assert rendered("envoyGateway", "1.9.1", {}).objects == (
        namespace,
        job | {"metadata": {"name": "certgen"}},
        account | {"metadata": {"name": "a", "annotations": {"mine": "1"}}},
    )
    called = (programs.folder / "helm.called").read_text().split()
    chart = f"{programs.module}/charts/gateway-helm"
    assert called[:7] == [
        *("template", "eg", chart),
        *("--namespace", "envoy-gateway-system", "--values", f"{chart}/values.tmpl.yaml"),
    ]
    assert called[-3:] == ["--kube-version", "1.34.0", "--is-upgrade"]


def test_a_module_with_another_digest_is_refused(programs: Programs) -> None:
    programs.answers(Dir=str(programs.module), Sum="h1:other")
    with pytest.raises(InvalidDocuments, match="has digest h1:other, and not h1:"):
        module_folder(RELEASE)


def test_a_module_that_cannot_be_fetched_says_why(programs: Programs) -> None:
    programs.answers(Error="no such host")
    with pytest.raises(InvalidDocuments, match="cannot be fetched: no such host"):
        module_folder(RELEASE)


@pytest.mark.parametrize("name", ["go", "helm"])
def test_a_program_that_is_missing_is_named(programs: Programs, name: str) -> None:
    (programs.folder / name).unlink()
    with pytest.raises(InvalidDocuments, match=f"there is no `{name}` on the PATH"):
        rendered("leaderWorkerSet", "0.9.0", {})


def test_what_helm_refuses_is_told_in_its_words(programs: Programs) -> None:
    programs.program("helm", "echo 'Error: values do not meet the schema' >&2; exit 1")
    with pytest.raises(InvalidDocuments, match="failed: Error: values do not meet the schema"):
        rendered("leaderWorkerSet", "0.9.0", {"replicaCount": "x"})


def test_files_are_written_compared_and_those_of_former_versions_removed(
    programs: Programs, files: StackFiles
) -> None:
    new = texts({("leaderWorkerSet", "0.9.0"): {}})
    assert [each.how for each in differences(files, new)] == ["missing"] * 4
    write(files, new)
    assert differences(files, new) == ()
    folder = files.documents / "installed" / "leaderWorkerSet"
    (folder / "0.9.0" / "source.yaml").write_text("x")
    (folder / "0.8.0").mkdir()
    (folder / "0.8.0" / "old.yaml").write_text("x")
    assert differences(files, new) == (
        Difference("leaderWorkerSet/0.8.0/old.yaml", "left over"),
        Difference("leaderWorkerSet/0.9.0/source.yaml", "different"),
    )
    write(files, new)
    assert differences(files, new) == ()
    assert not (folder / "0.8.0").exists()
    write(files, {})
    assert not (files.documents / "installed").exists() or not any((files.documents / "installed").iterdir())


def test_nothing_is_written_through_a_link_out_of_the_project(
    programs: Programs, files: StackFiles, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (files.documents / "installed").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InvalidDocuments, match="is outside of the project, where a symbolic link leads"):
        write(files, texts({("leaderWorkerSet", "0.9.0"): {}}))
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_every_release_has_a_digest_of_a_module() -> None:
    releases = [release for row in ADDONS.values() for release in row.releases]
    assert all(replace(release).digest.startswith("h1:") for release in releases)
    assert len({(release.module, release.module_version) for release in releases}) == len(releases)
