"""Firewalls of networks that somebody else keeps: whether they let in what a cluster and its nodes need.

What they drop gives no error anywhere: a gateway has its address and answers 503, and engines wait for each
other. Rules are judged as Google has them in force for the network, those of its organisation and folders
among them. Left out are rules about one region, secure tags, some ports, and parts of a range.

https://docs.cloud.google.com/compute/docs/reference/rest/v1/networks/getEffectiveFirewalls,
https://docs.cloud.google.com/firewall/docs/firewall-policies-overview (their order)
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import Any

# Google's own rules for nodes and gateways of a cluster, which let all of it in:
# https://docs.cloud.google.com/kubernetes-engine/docs/concepts/firewall-rules
_OF_GKE = 1000
_ALL_PORTS = ("0-65535", "1-65535")


@dataclass(frozen=True)
class Machines:
    """What rules choose machines by: their network tags, and the address of their service account."""

    tags: tuple[str, ...]
    account: str


@dataclass(frozen=True)
class Ruling:
    """The rule that decides about packets, and whether it lets them in."""

    rule: str
    allows: bool


@dataclass(frozen=True)
class _Rule:
    name: str
    allows: bool
    sources: tuple[str, ...]
    protocols: tuple[tuple[str, tuple[str, ...]], ...]
    """Protocols with ports; all ports where it names none."""

    def decides(self, source: str) -> bool:
        """Return whether it is about all TCP from a range of addresses."""
        within = IPv4Network(source)
        ranges = [IPv4Network(text, strict=False) for text in self.sources if ":" not in text]
        return any(within.subnet_of(each) for each in ranges) and any(
            name in ("all", "tcp", "6") and (not ports or any(port in _ALL_PORTS for port in ports))
            for name, ports in self.protocols
        )


def denied(
    network: Mapping[str, Any], effective: Mapping[str, Any], sources: Iterable[str], machines: Machines
) -> Iterator[tuple[str, Ruling]]:
    """Yield those of the ranges that a rule keeps out before GKE's own rules let them in, and the rule."""
    rules = [
        *_of_policies(effective, machines, "HIERARCHY"),
        *(_of_policies(effective, machines, "NETWORK") if _policies_first(network) else ()),
        *_of_network(effective, machines, until=_OF_GKE),
    ]
    for source in sources:
        found = _first(rules, source)
        if found and not found.allows:
            yield source, found


def ruling(
    network: Mapping[str, Any], effective: Mapping[str, Any], source: str, machines: Machines
) -> Ruling | None:
    """Return the rule that decides about TCP from a range; None where there is none, and nothing gets in."""
    own, of_network = [*_of_network(effective, machines)], [*_of_policies(effective, machines, "NETWORK")]
    later = [*of_network, *own] if _policies_first(network) else [*own, *of_network]
    return _first([*_of_policies(effective, machines, "HIERARCHY"), *later], source)


def _first(rules: Sequence[_Rule], source: str) -> Ruling | None:
    found = next((rule for rule in rules if rule.decides(source)), None)
    return Ruling(found.name, found.allows) if found else None


def _policies_first(network: Mapping[str, Any]) -> bool:
    return network.get("networkFirewallPolicyEnforcementOrder") == "BEFORE_CLASSIC_FIREWALL"


def _of_network(effective: Mapping[str, Any], machines: Machines, until: int = 65_535) -> Iterator[_Rule]:
    """Yield the rules of the network itself, by priority; of one priority those that deny come first."""
    rules = effective.get("firewalls") or ()
    for rule in sorted(rules, key=lambda rule: (rule.get("priority", _OF_GKE), not rule.get("denied"))):
        accounts = rule.get("targetServiceAccounts") or ()
        if (
            rule.get("direction", "INGRESS") == "INGRESS"
            and not rule.get("disabled")
            and rule.get("priority", _OF_GKE) <= until
            and _chosen(machines, rule.get("targetTags") or (), accounts)
        ):
            layers = rule.get("denied") or rule.get("allowed") or ()
            yield _Rule(
                f"firewall rule {rule.get('name')}",
                not rule.get("denied"),
                tuple(rule.get("sourceRanges") or ()) or _of_machines(rule, machines),
                _protocols(layers, "IPProtocol"),
            )


def _of_machines(rule: Mapping[str, Any], machines: Machines) -> tuple[str, ...]:
    """Return that a rule lets everything in, where it names the machines as its sources."""
    tags, accounts = rule.get("sourceTags") or (), rule.get("sourceServiceAccounts") or ()
    named = (tags or accounts) and _chosen(machines, tags, accounts)
    return ("0.0.0.0/0",) if named and not rule.get("denied") else ()


def _of_policies(effective: Mapping[str, Any], machines: Machines, kind: str) -> Iterator[_Rule]:
    """Yield the rules of policies, in Google's order of them; a rule that hands on decides nothing."""
    for policy in effective.get("firewallPolicys") or ():
        if policy.get("type") != kind:
            continue
        name = policy.get("shortName") or policy.get("displayName") or policy.get("name")
        for rule in sorted(policy.get("rules") or (), key=lambda rule: int(rule.get("priority") or 0)):
            match = rule.get("match") or {}
            accounts = [each.rpartition("/")[2] for each in rule.get("targetServiceAccounts") or ()]
            if (
                rule.get("direction") == "INGRESS"
                and not rule.get("disabled")
                and rule.get("action") in ("allow", "deny")
                and not (rule.get("targetSecureTags") or rule.get("targetResources"))
                and _chosen(machines, (), accounts)
            ):
                yield _Rule(
                    f"rule {rule.get('priority')} of firewall policy {name}",
                    rule["action"] == "allow",
                    tuple(match.get("srcIpRanges") or ()),
                    _protocols(match.get("layer4Configs") or (), "ipProtocol"),
                )


def _chosen(machines: Machines, tags: Collection[str], accounts: Collection[str]) -> bool:
    everything = not tags and not accounts
    return everything or not set(tags).isdisjoint(machines.tags) or machines.account in accounts


def _protocols(layers: Iterable[Mapping[str, Any]], name: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return tuple((str(layer.get(name)), tuple(layer.get("ports") or ())) for layer in layers)
