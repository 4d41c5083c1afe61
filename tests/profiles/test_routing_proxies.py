"""The routing proxies of all profiles: what decode pods have, and what documents may set of it."""

import pytest

from inferfleet.profiles.kv_transfer import ENGINES
from inferfleet.profiles.table import names, picker


@pytest.mark.parametrize("name", names())
def test_each_flag_is_for_documents_or_follows_from_them_or_is_refused(name: str) -> None:
    proxy = picker(name, disaggregated=True).proxy
    assert proxy is not None
    groups = [set(proxy.known_flags), set(proxy.own_flags), set(proxy.refused_flags)]
    assert sum(map(len, groups)) == len(set.union(*groups))
    assert {proxy.engine_port_flag, "port", "kv-connector", "data-parallel-size"} <= groups[1]


def test_each_way_of_a_document_has_a_proxy_that_knows_it() -> None:
    ways = {way for engine in ("vLLM", "SGLang") for way in ENGINES[engine]}
    proxies = [picker(name, disaggregated=True).proxy for name in names()]
    assert ways == {way for proxy in proxies if proxy for way in proxy.connectors}
