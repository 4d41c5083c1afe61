"""Settings and options that all tests share."""

import os
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
import toolchain
from budget import machine
from hypothesis import HealthCheck, settings
from sharing import record, share_out

from inferfleet.starting import collect_seldom

collect_seldom()
# How long an example takes depends on what else the machine does; speed is shown by benchmarks.
settings.register_profile("inferfleet", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("inferfleet")

pytest_plugins = ["fake_fixtures"]

END_TO_END = Path(__file__).parent / "e2e"
DURATIONS: dict[str, float] = defaultdict(float)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--record-durations", action="store_true", help="write how long each end-to-end file took"
    )


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Every process that runs tests knows what the first one saw."""
    node.workerinput["machine"] = tuple(machine(node.config))


# First, because xdist reads the groups right after.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    ours = [item for item in items if END_TO_END in item.path.parents]
    for item in ours:
        item.add_marker(pytest.mark.e2e)
    if ours:
        share_out(items, END_TO_END, first=machine(config).built)


def pytest_collection_finish(session: pytest.Session) -> None:
    ours = [item for item in session.items if END_TO_END in item.path.parents]
    loose = [item.nodeid for item in ours if "@" not in item.nodeid]
    if getattr(session.config.option, "loadgroup", False) and loose:
        # Where xdist does not group, each test would start clusters of its own, and nothing would fail.
        raise pytest.UsageError(f"xdist does not keep together what shares clusters: {loose[0]}")
    # Of several processes, the first.
    first = os.environ.get("PYTEST_XDIST_WORKER", "gw0") == "gw0"
    if ours and first and not (session.config.option.collectonly or machine(session.config).built):
        toolchain.begin()


class _Told:
    """Prints every failure as it happens: of a run that is cut off, nothing else says what failed."""

    def __init__(self, config: pytest.Config) -> None:
        self._plugins = config.pluginmanager

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            terminal = self._plugins.getplugin("terminalreporter")
            terminal.ensure_newline()
            terminal.write_line(f"{report.when} of {report.nodeid} failed:")
            terminal.write_line(report.longreprtext[-2000:])


def pytest_configure(config: pytest.Config) -> None:
    # With several processes, the one that prints; a worker has `workerinput`.
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Told(config))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    file = Path(report.nodeid.partition("::")[0])
    if END_TO_END.name in file.parts:
        DURATIONS[file.stem] += report.duration


def pytest_sessionfinish(session: pytest.Session) -> None:
    toolchain.end()
    # With several processes, the one that collects their reports; a worker has `workerinput`.
    if session.config.getoption("--record-durations") and not hasattr(session.config, "workerinput"):
        record(DURATIONS, END_TO_END)
