"""A new cluster begins with the CRDs of an earlier one, and without them when they cannot be had."""

import os
from pathlib import Path

import pytest

from sandbox.cluster import seeds
from sandbox.toolchain.tools import Tools


def _files(folder: Path, **contents: str) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        (folder / name).write_text(content)
    return [folder / name for name in contents]


def _seed(folder: Path) -> Path:
    _files(folder / "etcd" / "member", db="keys")
    _files(folder, **{seeds.RECORD: "{}"})
    return folder


def _content(folder: Path) -> dict[str, str]:
    return {str(file.relative_to(folder)): file.read_text() for file in folder.rglob("*") if file.is_file()}


def test_a_seed_is_of_the_files_names_and_contents_wherever_they_lie(tmp_path: Path) -> None:
    first = _files(tmp_path / "a", gateways="1", routes="2")
    other = _files(tmp_path / "b", routes="2", gateways="1")
    assert seeds.digest(first) == seeds.digest(other)
    assert seeds.digest(first) != seeds.digest(_files(tmp_path / "c", gateways="1", routes="3"))
    assert seeds.digest(first) != seeds.digest(_files(tmp_path / "d", gateways="1", paths="2"))
    assert seeds.digest(first) != seeds.digest(first[:1])


def test_another_api_server_has_another_seed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    programs = _files(tmp_path / "bin", **{"etcd": "e", "kube-apiserver": "k"})
    for program in programs:
        program.chmod(0o755)
    crds, tools = _files(tmp_path / "crds", gateways="1"), Tools((), str(tmp_path / "bin"))
    first = seeds.seed(tools, crds)
    assert (first.parent, seeds.seed(tools, crds)) == (tmp_path / "cache/inferfleet/seeds", first)
    programs[1].write_text("another")
    assert seeds.seed(tools, crds) != first


def test_a_cluster_begins_with_the_seed_beside_what_it_has(tmp_path: Path) -> None:
    seed, cluster = _seed(tmp_path / "seed"), tmp_path / "cluster"
    _files(cluster / "pki", ca="certificate")
    assert seeds.plant(seed, cluster)
    assert _content(cluster) == {"pki/ca": "certificate", "etcd/member/db": "keys", seeds.RECORD: "{}"}


def test_without_a_seed_a_cluster_begins_empty(tmp_path: Path) -> None:
    assert not seeds.plant(tmp_path / "seed", tmp_path / "cluster")
    assert _content(tmp_path) == {}


def test_of_a_seed_that_cannot_be_copied_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed, cluster, programs = _seed(tmp_path / "seed"), tmp_path / "cluster", tmp_path / "bin"
    half = f'#!/bin/sh\n{os.path.realpath("/bin/mkdir")} "$3/etcd"; echo > "$3/{seeds.RECORD}"; exit 1\n'
    _files(programs, cp=half)[0].chmod(0o755)
    monkeypatch.setenv("PATH", str(programs))
    assert not seeds.plant(seed, cluster)
    assert list(cluster.iterdir()) == []


def test_a_discarded_seed_is_gone(tmp_path: Path) -> None:
    seeds.discard(_seed(tmp_path / "seed"))
    seeds.discard(tmp_path / "never-there")
    assert list(tmp_path.iterdir()) == []


def test_no_seed_is_made_where_etcd_does_not_start(tmp_path: Path) -> None:
    record = _files(tmp_path, record="{}")[0]
    names = ["customresourcedefinition/gateways.example.com"]
    seeds.keep(
        tmp_path / "seeds" / "one",
        names,
        port=1,
        record=record,
        etcd=Path("/bin/false"),
        scratch=tmp_path / "scratch",
    )
    assert _content(tmp_path) == {"record": "{}"}


def test_keys_are_those_of_the_api_server() -> None:
    names = ["customresourcedefinition/gateways.example.com", "validatingadmissionpolicy/safe.example.com"]
    assert seeds.keys_of(names) == [
        "/registry/apiextensions.k8s.io/customresourcedefinitions/gateways.example.com",
        "/registry/validatingadmissionpolicies/safe.example.com",
    ]
    with pytest.raises(KeyError):
        seeds.keys_of(["configmap/unknown"])
