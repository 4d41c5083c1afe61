"""Into how many parts (multi-instance GPU) a GPU can be split, by accelerator type and size of the part.

Sizes: https://docs.nvidia.com/datacenter/tesla/mig-user-guide/supported-mig-profiles.html
GPUs for which GKE has it: https://cloud.google.com/kubernetes-engine/docs/how-to/gpus-multi
"""

from collections.abc import Mapping

_OF_80_GB = {"1g.10gb": 7, "1g.20gb": 4, "2g.20gb": 3, "3g.40gb": 2, "4g.40gb": 1, "7g.80gb": 1}
PARTITIONS: Mapping[str, Mapping[str, int]] = {
    "nvidia-tesla-a100": {
        "1g.5gb": 7, "1g.10gb": 4, "2g.10gb": 3, "3g.20gb": 2, "4g.20gb": 1, "7g.40gb": 1,
    },
    "nvidia-a100-80gb": _OF_80_GB,
    "nvidia-h100-80gb": _OF_80_GB,
    "nvidia-h100-mega-80gb": _OF_80_GB,
    "nvidia-h200-141gb": {
        "1g.18gb": 7, "1g.35gb": 4, "2g.35gb": 3, "3g.71gb": 2, "4g.71gb": 1, "7g.141gb": 1,
    },
    "nvidia-b200": {
        "1g.23gb": 7, "1g.45gb": 4, "2g.45gb": 3, "3g.90gb": 2, "4g.90gb": 1, "7g.180gb": 1,
    },
    "nvidia-rtx-pro-6000": {"1g.24gb": 4, "2g.48gb": 2, "4g.96gb": 1},
}  # fmt: skip
# Listed by the reference of GKE's ComputeClass, not by the page above.
DISPUTED = frozenset({"nvidia-rtx-pro-6000"})
