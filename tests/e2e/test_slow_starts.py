"""Components that give up while their cluster starts slowly are started again."""

from dataclasses import replace
from pathlib import Path

from sandbox.cluster.kwok import KwokCluster
from sandbox.places import StackPlaces
from sandbox.toolchain.progress import Progress
from sandbox.toolchain.tools import make_tools


def test_a_component_that_gives_up_on_a_busy_machine_is_started_again(tmp_path: Path) -> None:
    """As the controller manager does where its API server takes more than ten seconds."""
    places, tools = StackPlaces(tmp_path, "slow"), make_tools(Progress())
    real, mark = tools.program("kube-controller-manager"), tmp_path / "gave-up"
    impatient = tmp_path / "programs" / "kube-controller-manager"
    impatient.parent.mkdir()
    impatient.write_text(
        "#!/bin/bash\n"
        # kwokctl asks for its version first.
        f"[[ $1 == --version || -e {mark} ]] || {{ touch {mark}; exit 1; }}\n"
        f'exec -a "$0" {real} "$@"\n'
    )
    impatient.chmod(0o755)
    cluster = KwokCluster(places, "east")
    try:
        cluster.create(replace(tools, path=f"{impatient.parent}:{tools.path}"), crds=(), namespaced=False)
        assert mark.exists()
        assert cluster.condition() == "running"
    finally:
        cluster.delete()
