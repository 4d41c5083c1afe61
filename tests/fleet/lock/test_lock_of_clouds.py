"""placement.lock says what the clusters and pools of a stack were created with, one line each."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from inferfleet.documents.problems import InvalidDocuments, Where
from inferfleet.fleet.lock.lock import Lock, LockedCluster, LockedPool, matches, parse, text

LOCK = Lock(
    stack="prod",
    clusters={
        "dc1": LockedCluster("Existing", "6e0c0d4e-0000-4000-8000-000000000000"),
        "east": LockedCluster("GKE", settings={"project": "acme-ml", "location": "us-east5"}),
        "west": LockedCluster("GKE", protected=True),
    },
    pools={
        "east/h100": LockedPool(
            "h100-1a2b3c",
            {
                "nodeConfig.spot": True,
                "nodeConfig.oauthScopes": ["https://a/b"],
                "nodeConfig.guestAccelerators[0].count": 8,
                "nodeConfig.metadata": {"b": "on", "a": "1"},
            },
        )
    },
    nodes={"dc1/l4": 3, "east/h100": 2},
)
TEXT = """\
version: 1
stack: prod
clusters:
  dc1: {source: Existing, uid: 6e0c0d4e-0000-4000-8000-000000000000}
  east: {source: GKE, location: us-east5, project: acme-ml}
  west: {source: GKE, protected: true}
pools:
  dc1/l4: {nodes: 3}
  east/h100: {nodes: 2, name: h100-1a2b3c, "nodeConfig.guestAccelerators[0].count": 8, nodeConfig.metadata: \
{a: "1", b: "on"}, nodeConfig.oauthScopes: ["https://a/b"], nodeConfig.spot: true}
"""


def _parse(content: str) -> Lock:
    return parse(content, file="placement.lock", stack="prod")


def test_settings_stand_sorted_on_the_line_of_their_cluster_or_pool() -> None:
    assert text(LOCK) == TEXT


def test_settings_are_read_with_the_line_they_stand_on() -> None:
    read = _parse(TEXT)
    assert read == LOCK
    assert read.lines == {
        "clusters/dc1": Where("placement.lock", 4),
        "clusters/east": Where("placement.lock", 5),
        "clusters/west": Where("placement.lock", 6),
        "pools/dc1/l4": Where("placement.lock", 8),
        "pools/east/h100": Where("placement.lock", 9),
    }


@pytest.mark.parametrize(
    ("line", "instead", "problem"),
    [
        ("{source: GKE", "{source: AWS", ":5: cluster east has source 'AWS'; it must be Existing or GKE"),
        ("{source: GKE, ", "{", ":5: cluster east has source None"),
        ("source: GKE,", "source: GKE, uid: 7,", ":5: cluster east has uid 7, which must be text"),
        ("protected: true", "protected: 1", ":6: cluster west has protected 1; it must be true or false"),
        (
            "location: us-east5",
            "location: [[a]]",
            ":5: location in '{source: GKE, location: [[a]], project: acme",
        ),
        ("location: us-east5", "location: ~", ":5: location in '{source: GKE, location: ~, project:"),
        ("location: us-east5", "project: other", "key 'project' is set twice in one map"),
        ("project: acme-ml}", "project: acme-ml", "is not a mapping: not valid YAML"),
        (
            "source: GKE",
            "source: Existing",
            ":5: cluster east has location, project; only a cluster of source GKE may have settings",
        ),
        (
            "name: h100-1a2b3c,",
            "",
            ":9: pool east/h100 has nodeConfig.guestAccelerators[0].count, nodeConfig",
        ),
        ("name: h100-1a2b3c,", "name: H100!,", ":9: pool east/h100 has name 'H100!'"),
        ("  east/h100: {", "  h100: {", ":9: 'h100: {nodes"),
        ("  east/h100: {", "  east/h100: [", "does not have the form 'east/h100: {nodes: 2, ...}'"),
        (
            "\n  east/h100:",
            "\n  east/h100: {nodes: 1, name: a}\n  east/h100:",
            ":10: east/h100 is listed twice in pools",
        ),
    ],
)
def test_a_damaged_line_says_file_line_value_and_rule(line: str, instead: str, problem: str) -> None:
    with pytest.raises(InvalidDocuments) as raised:
        _parse(TEXT.replace(line, instead, 1))
    assert problem in str(raised.value)


@pytest.mark.parametrize("key", ["clusters", "pools"])
def test_deep_nesting_is_refused_and_does_not_break_the_reader(key: str) -> None:
    with pytest.raises(InvalidDocuments):
        _parse(f"version: 1\nstack: prod\n{key}:\n  a/b: {'{a: ' * 5000}")


def test_other_settings_are_a_mismatch_like_other_names() -> None:
    made, other = (
        LockedCluster("GKE", settings={"project": "a"}),
        LockedCluster("GKE", settings={"project": "b"}),
    )
    pools = [{"a/p": LockedPool("p-1", {"x": 1})}, {"a/p": LockedPool("p-2", {"x": 1})}, {}]
    locks = [Lock(clusters={"a": made}, pools=named) for named in pools]
    assert [matches(locks[0], lock) for lock in locks] == [True, False, False]
    assert not matches(Lock(clusters={"a": made}), Lock(clusters={"a": other}))
    protected = LockedCluster("GKE", settings={"project": "a"}, protected=True)
    assert not matches(Lock(clusters={"a": made}), Lock(clusters={"a": protected}))


def test_a_lock_of_before_has_no_settings_and_is_read() -> None:
    before = "version: 1\nstack: prod\nclusters:\n  east: {source: GKE, uid: a}\n"
    assert _parse(before) == Lock(stack="prod", clusters={"east": LockedCluster("GKE", "a")})


_names = st.from_regex(r"\A[a-z][-a-z0-9]{0,8}[a-z0-9]\Z") | st.sampled_from(["no", "y", "null"])
_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
_scalars = st.booleans() | st.integers(-(2**40), 2**40) | _texts
_values = _scalars | st.lists(_scalars, max_size=3) | st.dictionaries(_texts, _scalars, max_size=3)
_settings = st.dictionaries(
    _texts.filter(lambda text: text not in ("source", "uid", "protected", "nodes", "name")),
    _values,
    max_size=4,
)
_locks = st.builds(
    lambda pools, nodes, **fields: Lock(pools=pools, nodes=nodes | dict.fromkeys(pools, 2), **fields),
    stack=st.just("prod"),
    clusters=st.dictionaries(
        _names,
        st.builds(LockedCluster, st.just("GKE"), st.none() | st.uuids().map(str), _settings, st.booleans()),
        max_size=3,
    ),
    pools=st.dictionaries(
        st.tuples(_names, _names).map("/".join), st.builds(LockedPool, _names, _settings), max_size=3
    ),
    nodes=st.dictionaries(st.tuples(_names, _names).map("/".join), st.integers(0, 9), max_size=2),
)


@given(_locks)
def test_any_settings_read_back(lock: Lock) -> None:
    assert _parse(text(lock)) == lock


@given(_locks)
def test_a_reader_of_older_yaml_sees_the_same(lock: Lock) -> None:
    seen = yaml.safe_load(text(lock))
    pools = {key: {"name": pool.name, **pool.settings} for key, pool in lock.pools.items()}
    assert {key: {"nodes": nodes, **pools.get(key, {})} for key, nodes in lock.nodes.items()} == seen.get(
        "pools", {}
    )
