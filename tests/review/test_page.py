"""The page of a picture: small at 300 clusters, the same each time, and nothing in it acts."""

import re
from dataclasses import replace

from digested import loaded, side
from pictured import COMMIT, fleet, pictured
from work import counted_calls

from inferfleet.cli.verbs.report_page import element, page
from inferfleet.review.picture import WeightsPicture, picture


def test_a_page_of_300_clusters_is_small_and_takes_less_than_twice_the_work_of_its_plan() -> None:
    documents = loaded(fleet(300, edited=True), "prod")
    head, planned = counted_calls(lambda: side(documents))
    text, beside = counted_calls(lambda: page(picture(head, ())))
    assert len(text.encode()) <= 2_000_000
    assert beside < 2 * planned


def test_equal_fleets_give_equal_pages() -> None:
    assert page(pictured(3, live=True)) == page(pictured(3, live=True))


def test_texts_and_attributes_are_escaped_and_cannot_hide() -> None:
    made = element("p", "<b>&\"'\u202e\x1b", element("b", 1), None, ["x", "<"], title='"><i>', hidden=False)
    assert made == ('<p title="&quot;&gt;&lt;i&gt;">&lt;b&gt;&amp;&quot;&#x27;\\u202e\\x1b<b>1</b>x&lt;</p>')


def test_a_page_names_nothing_outside_of_itself() -> None:
    text = page(pictured(3, live=True))
    assert re.findall(r'(?:src|href|action)="(?!#)|url\(|@import|\bstyle="|\son\w+="', text) == []
    assert "default-src &#x27;none&#x27;" in text


def test_what_changes_is_marked_at_its_cluster_and_pool() -> None:
    made = pictured(3)
    assert made.base == COMMIT
    assert [cluster.changes for cluster in made.clusters] == [
        (),
        (),
        ("cluster c002 is drained, and was active",),
    ]
    assert [cluster.pools[0].changes for cluster in made.clusters] == [
        ("pool c000/l4 has 2 nodes in its document, and had 1",),
        (),
        (),
    ]
    assert made.gone == ("USD an hour: 12.00 -> 16.00",)


def test_a_place_says_why_it_is_one_also_where_there_is_no_other() -> None:
    picture = pictured(3)
    assert {place.why for model in picture.models for place in model.places} == {
        "no other place has room for it"
    }


def test_a_cluster_that_does_not_answer_says_so() -> None:
    made = pictured(3, live=True)
    assert {(cluster.phase, cluster.silent) for cluster in made.clusters} == {
        ("Unknown", "it does not answer")
    }
    assert page(made).count("did not answer: ") == 3


def test_how_far_weights_are_has_a_section_where_clusters_were_asked() -> None:
    weights = (WeightsPicture("ml/qwen3", "c000", "Starting", "62 %, about 18 minutes"),)
    text = page(replace(pictured(3, live=True), weights=weights))
    assert "Weights of ModelCaches" in text
    assert "<td>62 %, about 18 minutes</td>" in text
    assert "Weights of ModelCaches" not in page(pictured(3, live=True))


def test_what_the_base_alone_has_is_told() -> None:
    first = side(loaded(fleet(3, edited=False), "prod"))
    made = replace(picture(first, ()), gone=("model ml/old is removed",))
    assert "<li data-find>model ml/old is removed</li>" in page(made)
