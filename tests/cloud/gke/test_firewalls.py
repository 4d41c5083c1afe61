"""Which rule decides about what comes to nodes, by Google's answer about the rules in force."""

from typing import Any

import pytest

from inferfleet.cloud.gke.firewalls import Machines, Ruling, denied, ruling

NODES = Machines(("egress",), "nodes@acme.iam.gserviceaccount.com")
CHECKS, RANGE = "35.191.0.0/16", "10.9.0.0/20"
ALL = [{"IPProtocol": "all"}]
TCP = [{"IPProtocol": "tcp"}]
FIRST = {"networkFirewallPolicyEnforcementOrder": "BEFORE_CLASSIC_FIREWALL"}
Rule = dict[str, Any]


def rule(name: str, *, allows: bool = True, of: str = "0.0.0.0/0", **more: Any) -> Rule:
    layers = more.pop("layers", ALL)
    given = {"direction": "INGRESS", "priority": 1000, "sourceRanges": [of], **more}
    return {"name": name, ("allowed" if allows else "denied"): layers, **given}


def policy(kind: str, *rules: Rule) -> dict[str, Any]:
    return {"type": kind, "shortName": kind.lower(), "rules": list(rules)}


def ruled(priority: int, action: str, of: str = "0.0.0.0/0", **more: Any) -> Rule:
    match = {"srcIpRanges": [of], "layer4Configs": [{"ipProtocol": "all"}]}
    return {"priority": priority, "action": action, "direction": "INGRESS", "match": match, **more}


def decided(*rules: Rule, policies: tuple[dict[str, Any], ...] = (), **network: str) -> Ruling | None:
    return ruling(network, {"firewalls": list(rules), "firewallPolicys": list(policies)}, RANGE, NODES)


def kept_out(*rules: Rule, policies: tuple[dict[str, Any], ...] = (), **network: str) -> list[str]:
    effective = {"firewalls": list(rules), "firewallPolicys": list(policies)}
    return [found.rule for _, found in denied(network, effective, [CHECKS], NODES)]


def test_without_rules_nothing_gets_in() -> None:
    assert decided() is None


@pytest.mark.parametrize(
    "other",
    [
        rule("a", of="10.9.0.0/24"),
        rule("a", layers=[{"IPProtocol": "tcp", "ports": ["22"]}]),
        rule("a", layers=[{"IPProtocol": "icmp"}]),
        rule("a", targetTags=["bastion"]),
        rule("a", targetServiceAccounts=["other@acme.iam.gserviceaccount.com"]),
        rule("a", sourceRanges=[], sourceTags=["bastion"]),
        rule("a", direction="EGRESS"),
        rule("a", disabled=True),
    ],
)
def test_a_rule_about_something_else_decides_nothing(other: Rule) -> None:
    assert decided(other) is None


@pytest.mark.parametrize(
    "own",
    [
        rule("a", of=RANGE, layers=TCP),
        rule("a", layers=[{"IPProtocol": "tcp", "ports": ["0-65535"]}]),
        rule("a", targetTags=["egress"]),
        rule("a", sourceRanges=[], sourceTags=["egress"]),
        rule("a", targetServiceAccounts=[NODES.account]),
    ],
)
def test_a_rule_about_these_nodes_lets_them_in(own: Rule) -> None:
    assert decided(own) == Ruling("firewall rule a", allows=True)


def test_the_lowest_number_comes_first_and_of_one_number_what_denies() -> None:
    assert decided(rule("in"), rule("out", allows=False, priority=900)) == Ruling("firewall rule out", False)
    assert decided(rule("in"), rule("out", allows=False)) == Ruling("firewall rule out", False)
    assert decided(rule("in"), rule("out", allows=False, priority=1001)) == Ruling("firewall rule in", True)


def test_policies_of_folders_come_before_and_those_of_the_network_after_its_own_rules() -> None:
    outside = policy("HIERARCHY", ruled(1, "goto_next"), ruled(2, "deny", RANGE))
    assert decided(rule("in"), policies=(outside,)) == Ruling("rule 2 of firewall policy hierarchy", False)
    network = policy("NETWORK", ruled(1, "deny"))
    assert decided(rule("in"), policies=(network,)) == Ruling("firewall rule in", True)
    assert decided(policies=(network,)) == Ruling("rule 1 of firewall policy network", False)
    assert decided(rule("in"), policies=(network,), **FIRST) == Ruling(
        "rule 1 of firewall policy network", False
    )


def test_a_policy_for_others_decides_nothing() -> None:
    others = ruled(1, "deny", targetServiceAccounts=["projects/acme/serviceAccounts/x@acme.example"])
    tagged = ruled(2, "deny", targetSecureTags=[{"name": "tagValues/1"}])
    assert decided(rule("in"), policies=(policy("HIERARCHY", others, tagged),)) == Ruling(
        "firewall rule in", True
    )


def test_what_comes_before_the_rules_of_gke_keeps_out_health_checks() -> None:
    assert kept_out() == []
    assert kept_out(rule("late", allows=False, priority=1001)) == []
    assert kept_out(rule("out", allows=False)) == ["firewall rule out"]
    assert kept_out(rule("out", allows=False), rule("checks", of=CHECKS, priority=999)) == []
    assert kept_out(policies=(policy("HIERARCHY", ruled(5, "deny")),)) == [
        "rule 5 of firewall policy hierarchy"
    ]
    network = policy("NETWORK", ruled(7, "deny"))
    assert kept_out(policies=(network,)) == []
    assert kept_out(policies=(network,), **FIRST) == ["rule 7 of firewall policy network"]
