"""The routing proxies of all profiles: what decode pods have, and what documents may set of it."""

import pytest

from inferfleet.tables.engines import CONNECTORS
from inferfleet.tables.pickers import names, picker


@pytest.mark.parametrize("name", names())
def test_each_flag_that_follows_from_documents_is_known_as_such(name: str) -> None:
    proxy = picker(name, disaggregated=True).proxy
    assert proxy is not None
    own = {proxy.engine_port_flag, proxy.mooncake_port_flag, proxy.tracing_flag, *proxy.flags} - {None}
    assert own | {"port", "kv-connector", "data-parallel-size"} <= set(proxy.own_flags)


def test_each_way_of_a_document_has_a_proxy_that_knows_it() -> None:
    ways = {way for engine in ("vLLM", "SGLang") for way in CONNECTORS[engine]}
    proxies = [picker(name, disaggregated=True).proxy for name in names()]
    assert ways == {way for proxy in proxies if proxy for way in proxy.connectors}
