"""A lock that outlives its simulated clusters would refuse the next ones."""

from pathlib import Path

from inferfleet.fleet.lock.lock import Lock, LockedCluster, text
from inferfleet.fleet.spot import Spot
from sandbox.placement_lock import forget_clusters

ON_EAST, ON_REAL = (Spot("ml/x", cluster, (("decode", "l4"),)) for cluster in ("east", "real"))


def _lock(*clusters: str) -> str:
    spots = {spot: 1 for spot in (ON_EAST, ON_REAL) if spot.cluster in clusters}
    known = {name: LockedCluster("Existing", f"uid-of-{name}") for name in clusters}
    nodes = {f"{name}/l4": 2 for name in clusters}
    return text(Lock("s", known, spots, {"ml/chat": clusters}, nodes=nodes))


def _project(tmp_path: Path, lock: str) -> Path:
    folder = tmp_path / "stacks" / "s"
    folder.mkdir(parents=True)
    (folder / "placement.lock").write_text(lock)
    return folder / "placement.lock"


def test_a_lock_of_simulated_clusters_alone_goes_with_them(tmp_path: Path) -> None:
    file = _project(tmp_path, _lock("east"))
    forget_clusters(tmp_path, "s", ["east"])
    assert not file.exists()


def test_a_kubeconfig_in_the_settings_does_not_keep_the_lock(tmp_path: Path) -> None:
    file = _project(tmp_path, _lock("east"))
    (tmp_path / "stacks" / "Pulumi.s.yaml").write_text("config: {'inferfleet:eastKubeconfig': text}\n")
    forget_clusters(tmp_path, "s", ["east"])
    assert not file.exists()


def test_real_clusters_stay_in_the_lock(tmp_path: Path) -> None:
    file = _project(tmp_path, _lock("east", "real"))
    forget_clusters(tmp_path, "s", ["east"])
    assert file.read_text() == _lock("real")


def test_a_lock_outside_of_the_project_is_not_changed(tmp_path: Path) -> None:
    project, outside = tmp_path / "project", tmp_path / "outside"
    _project(project, _lock("east"))
    outside.mkdir()
    (outside / "placement.lock").write_text(_lock("east"))
    (project / "stacks" / "Pulumi.s.yaml").write_text("config: {inferfleet:documents: ../outside}\n")
    forget_clusters(project, "s", ["east"])
    assert (outside / "placement.lock").read_text() == _lock("east")


def test_a_lock_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    file = _project(tmp_path, _lock("east"))
    file.rename(tmp_path / "real.lock")
    file.symlink_to(tmp_path / "real.lock")
    forget_clusters(tmp_path, "s", ["east"])
    assert (tmp_path / "real.lock").read_text() == _lock("east")
    assert file.is_symlink()


def test_a_damaged_lock_is_left_for_its_owner(tmp_path: Path) -> None:
    file = _project(tmp_path, "version: 1\nstack: s\nplacements: [")
    forget_clusters(tmp_path, "s", ["east"])
    assert file.read_text() == "version: 1\nstack: s\nplacements: ["
