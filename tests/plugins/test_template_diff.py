"""What explain shows of an edit: nothing is missed, and named things are compared by name."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inferfleet.documents.pods.diff import FieldChange, changes
from inferfleet.documents.pods.plain import plain

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["a", "b", "name"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "a", "x.y/z"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(deadline=None)  # a busy machine is no failure
@given(JSON, JSON)
def test_there_are_changes_exactly_when_the_two_say_different_things(before: Any, after: Any) -> None:
    same = json.dumps(before, sort_keys=True) == json.dumps(after, sort_keys=True)
    assert (changes(before, after) == ()) == same


@settings(deadline=None)  # a busy machine is no failure
@given(JSON)
def test_a_plain_copy_is_equal_and_shares_nothing(value: Any) -> None:
    copied = plain(value)
    assert copied == value
    assert not _parts(copied) & _parts(value)


def _parts(value: Any) -> set[int]:
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    own = {id(value)} if isinstance(value, dict | list) else set()
    return own.union(*(_parts(one) for one in inside))


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"a": 1}, {"a": True}, [FieldChange("a", 1, True)]),
        ({"a": {"x.y/z": "1"}}, {"a": {}}, [FieldChange('a["x.y/z"]', "1", None)]),
        (
            [{"name": "a", "v": 1}, {"name": "b"}],
            [{"name": "new"}, {"name": "a", "v": 2}, {"name": "b"}],
            [FieldChange("[a].v", 1, 2), FieldChange("[new]", None, {"name": "new"})],
        ),
        (
            [{"name": "a"}, {"name": "b"}],
            [{"name": "b"}, {"name": "a"}],
            [FieldChange("", [{"name": "a"}, {"name": "b"}], [{"name": "b"}, {"name": "a"}])],
        ),
        (["x"], ["x", "y"], [FieldChange("[1]", None, "y")]),
    ],
)
def test_changes_name_the_field(before: Any, after: Any, expected: list[FieldChange]) -> None:
    untouched = copy.deepcopy((before, after))
    assert list(changes(before, after)) == expected
    assert (before, after) == untouched
