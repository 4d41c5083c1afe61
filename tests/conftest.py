"""Settings and options that all tests share."""

from collections import defaultdict
from pathlib import Path

import pytest
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


# First, because xdist reads the groups right after.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if END_TO_END in item.path.parents:
            item.add_marker(pytest.mark.e2e)
    share_out(items, END_TO_END)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Where xdist does not group, each test would start clusters of its own, and nothing would fail."""
    if getattr(session.config.option, "loadgroup", False):
        ours = [item for item in session.items if END_TO_END in item.path.parents]
        if loose := [item.nodeid for item in ours if "@" not in item.nodeid]:
            raise pytest.UsageError(f"xdist does not keep together what shares clusters: {loose[0]}")


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
    # With several processes, the one that collects their reports; a worker has `workerinput`.
    if session.config.getoption("--record-durations") and not hasattr(session.config, "workerinput"):
        record(DURATIONS)
