"""Kinds that schedulers and the Prometheus operator define: parts that tests alone ask for.

No cluster of the sandbox has them, so they are none of `parts.PARTS`.
"""

from sandbox.toolchain.parts import Files, Part

_VOLCANO_CRDS = "config/crd/volcano/bases"
_KUEUE_CRDS = "config/components/crd/bases"
# KAI is missing: the module proxy does not offer its versions.
SCHEDULERS = Part(
    name="schedulers",
    version="of Volcano 1.15.1 and Kueue 0.19.2",
    files=(
        Files("volcano.sh/volcano", _VOLCANO_CRDS, "scheduling.volcano.sh_*.yaml", "crds"),
        Files("volcano.sh/volcano", _VOLCANO_CRDS, "topology.volcano.sh_*.yaml", "crds"),
        Files("sigs.k8s.io/kueue", _KUEUE_CRDS, "kueue.x-k8s.io_localqueues.yaml", "crds"),
        Files("sigs.k8s.io/kueue", _KUEUE_CRDS, "kueue.x-k8s.io_topologies.yaml", "crds"),
    ),
)
_OPERATOR_CRDS = "example/prometheus-operator-crd"
# What Google defines is missing: the module proxy does not offer
# github.com/GoogleCloudPlatform/prometheus-engine.
MONITORS = Part(
    name="monitors",
    version="of prometheus-operator 0.90.1",
    files=tuple(
        Files(
            "github.com/prometheus-operator/prometheus-operator",
            _OPERATOR_CRDS,
            f"monitoring.coreos.com_{plural}.yaml",
            "crds",
        )
        for plural in ("podmonitors", "servicemonitors")
    ),
)
