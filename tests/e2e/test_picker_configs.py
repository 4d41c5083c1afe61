"""The check of a picker's configuration, and the program itself: what one refuses, the other does too."""

from collections import Counter
from pathlib import Path

import picker_programs
import pytest
from picker_configs import picker_configs

from inferfleet.manifests.picker.config import config_text
from inferfleet.manifests.picker.flags import mistakes
from inferfleet.manifests.picker.wiring import findings
from inferfleet.profiles.pickers.tables import picker_table
from inferfleet.profiles.table import picker
from sandbox.toolchain.edits import LLM_D_SOURCE
from sandbox.toolchain.parts import EPP, LLM_D
from sandbox.toolchain.progress import Progress
from sandbox.toolchain.tools import make_tools

# Plugins that the sandbox's build leaves out: sandbox/toolchain/edits.py.
_ABSENT = frozenset({"precise-prefix-cache-scorer", "tokenizer"})

# Not refresh-metrics-interval: 0, with which one of them ends at its first pod, and no port 0, which the
# program takes for none.
FLAGS = (
    ("model-server-metrics-scheme", "https"),
    ("model-server-metrics-scheme", "HTTP"),
    ("model-server-metrics-path", "nosuch"),
    ("model-server-metrics-port", "70000"),
    ("refresh-metrics-interval", "1ms"),
    ("refresh-metrics-interval", "9999999h"),
    ("refresh-prometheus-metrics-interval", "0"),
    ("refresh-prometheus-metrics-interval", "1s"),
    ("metrics-staleness-threshold", "0"),
    ("metrics-port", "70000"),
    ("grpc-health-port", "65536"),
    ("zap-encoder", "Console"),
    ("zap-encoder", "xml"),
    ("zap-stacktrace-level", "debug"),
    ("zap-time-encoding", "ISO8601"),
    ("zap-time-encoding", "iso"),
)


@pytest.mark.parametrize(
    ("disaggregated", "program", "absent"), [(False, "epp", frozenset()), (True, "llm-d-epp", _ABSENT)]
)
def test_the_check_refuses_what_the_program_refuses_and_nothing_else(
    tmp_path: Path, disaggregated: bool, program: str, absent: frozenset[str]
) -> None:
    profile = picker("scheduler-0.7", disaggregated=disaggregated)
    table = picker_table(profile.name)
    file, real = tmp_path / "config.yaml", make_tools(Progress(), (EPP, LLM_D)).program(program)
    verdicts: Counter[bool] = Counter()
    different = []
    with picker_programs.cluster(tmp_path) as kubeconfig:
        version = profile.config_api_versions[0]
        for config in picker_configs(table, version=version, count=60, seed=profile.name, absent=absent):
            ours = [
                found.mistake
                for found in findings(config, table, who="the picker", flags={})
                if found.refused
            ]
            file.write_text(config_text(config))
            theirs = picker_programs.said(real, file, kubeconfig=kubeconfig)
            verdicts[theirs is None] += 1
            if bool(ours) != (theirs is not None):
                different.append((config, ours, theirs))
    assert different == []
    assert min(verdicts[True], verdicts[False]) >= 15, verdicts


@pytest.mark.parametrize(("disaggregated", "program"), [(False, "epp"), (True, "llm-d-epp")])
def test_the_check_refuses_the_values_of_flags_with_which_the_program_ends(
    tmp_path: Path, disaggregated: bool, program: str
) -> None:
    profile = picker("scheduler-0.7", disaggregated=disaggregated)
    real = make_tools(Progress(), (EPP, LLM_D)).program(program)
    different = []
    with picker_programs.cluster(tmp_path) as kubeconfig:
        for flag, value in FLAGS:
            ours = bool(list(mistakes({flag: value}, profile)))
            if ours != picker_programs.ends(real, f"--{flag}={value}", kubeconfig=kubeconfig):
                different.append((flag, value, ours))
    assert different == []


def test_the_sandbox_s_build_lacks_these_plugins() -> None:
    """If it had them, the configurations above could use them."""
    assert {Path(path).name for path in LLM_D_SOURCE.without} == {"preparedata", "precise_prefix_cache.go"}
