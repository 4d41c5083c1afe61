"""Of all tests."""

import pytest
from halves import InHalves
from xdist.remote import Producer

from inferfleet.starting import collect_seldom

collect_seldom()

pytest_plugins = ["fake_fixtures"]


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> InHalves:
    return InHalves(config, log)
