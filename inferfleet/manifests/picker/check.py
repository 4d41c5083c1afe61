"""Checks whether an endpoint picker would be taken and start with the settings of cluster and deployment."""

from collections.abc import Iterable, Iterator, Mapping

from inferfleet.api.kinds.inference_cluster import InferenceCluster, Serving
from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.api.problems import Mistake, Problem, Severity
from inferfleet.api.wording import path_of, shown
from inferfleet.fleet.roles import connector, is_disaggregated
from inferfleet.manifests.picker import flags as picker_flags
from inferfleet.manifests.picker import odd, own_config
from inferfleet.manifests.picker.config import always
from inferfleet.manifests.picker.ending import unled_seconds
from inferfleet.manifests.picker.objects import image as picker_image
from inferfleet.manifests.picker.parameters import seconds
from inferfleet.manifests.programs import Value, resource_mistakes, text
from inferfleet.profiles.images import reference_of
from inferfleet.profiles.profile import Profile
from inferfleet.profiles.table import NEWEST
from inferfleet.profiles.table import picker as picker_row


def check_cluster(cluster: InferenceCluster, profile: Profile) -> Iterator[Problem]:
    """Yield what is wrong with a cluster's own flags; its model has checked the rest of its serving block."""
    written = cluster.spec.serving.epp_flags
    wrong = list(picker_flags.mistakes(written, profile))
    own = {name: text(value, profile.known_flags.get(name)) for name, value in written.items()}
    chosen = {**profile.flags, **own}
    every: tuple[tuple[Severity, Iterable[Mistake]], ...] = (
        ("error", wrong or _one_port(written, chosen, profile)),
        ("warning", [] if wrong else odd.of_flags(written, chosen, profile)),
    )
    for severity, mistakes in every:
        for mistake in mistakes:
            yield Problem(
                mistake.what,
                mistake.next_step,
                path_of(("spec", "serving", "eppFlags", *mistake.at)),
                kind="InferenceCluster",
                key=cluster.metadata.name,
                severity=severity,
            )


def check_deployment(deployment: ModelDeployment, *, serving: Serving, profile: Profile) -> Iterator[Problem]:
    """Yield errors and warnings of a deployment's picker, with this row of the table, on a cluster whose own
    flags are valid.
    """
    picker = deployment.spec.endpoint_picker
    flags = list(picker_flags.mistakes(picker.flags, profile))
    # Another image may have plugins of its own.
    severity: Severity = (
        "warning" if picker_image(deployment, serving, profile) != profile.epp_image else "error"
    )
    every: tuple[tuple[str, Severity, Iterable[Mistake]], ...] = (
        ("resources", "error", resource_mistakes(picker.resources)),
        ("flags", "error", flags),
        ("port", "error", [] if flags else _port_mistakes(deployment, serving, profile)),
        ("image", "error", _image_mistakes(deployment, serving, profile)),
        ("config", "error", own_config.mistakes(deployment, profile)),
        ("config", "warning", own_config.idle(deployment, profile)),
    )
    for field, how, mistakes in every:
        for mistake in mistakes:
            yield _problem(deployment, ("endpointPicker", field), mistake, how)
    chosen = {} if flags else picker_flags.flags(deployment=deployment, serving=serving, profile=profile)
    for mistake, refused in own_config.found(deployment, profile, chosen):
        how = severity if refused else "warning"
        yield _problem(deployment, ("endpointPicker", "config"), mistake, how)
    if chosen:
        ends = list(
            picker_flags.metrics_mistakes(chosen, picker.flags, serving, own_files=severity == "warning")
        )
        for mistake in ends:
            yield _problem(deployment, ("endpointPicker", "flags"), mistake)
        told = {mistake.at for mistake in ends}
        for mistake in odd.of_flags(picker.flags, chosen, profile):
            if mistake.at not in told:
                yield _problem(deployment, ("endpointPicker", "flags"), mistake, "warning")
        for mistake, below in odd.of_engine(deployment, chosen, profile):
            yield _problem(deployment, ("endpointPicker", *below), mistake, "warning")
        yield from _stale(deployment, chosen, profile)
    yield from _decider(deployment)
    yield from _open(deployment)


def check_image(
    deployment: ModelDeployment, cluster: InferenceCluster, *, profile: Profile
) -> Iterator[Problem]:
    """Yield an error where a cluster chose the image of its usual pickers, and none for this deployment's.

    Who chooses an image cannot pull the profile's, or must not; and the usual one is another program.
    """
    images, own = cluster.spec.serving.images, deployment.spec.endpoint_picker.image
    usual = picker_row(cluster.spec.serving.profile, disaggregated=False)
    if profile.epp_image == usual.epp_image or own:
        return
    apart = is_disaggregated(deployment)
    named = (images.prefill_epp or images.epp) if apart else images.epp
    if named and picker_row(cluster.spec.serving.profile, disaggregated=apart) is not profile:
        yield Problem(
            f"the endpoint picker of {profile.name} is another image than {named}, which cluster "
            f"{cluster.metadata.name!r} names in serving.images",
            f"Write endpointPicker.image, as {profile.epp_image} is called there",
            "spec.profile",
            kind="ModelDeployment",
            key=deployment.metadata.key,
        )
        return
    if images.prefill_epp or not images.epp:
        return
    yield Problem(
        f"deployment {deployment.metadata.key!r} has prefill apart, whose endpoint picker is another program "
        f"({profile.epp_image}) than that of serving.images.epp",
        "Write serving.images.prefillEpp too, or endpointPicker.image in the deployment",
        "spec.serving.images.epp",
        kind="InferenceCluster",
        key=cluster.metadata.name,
    )


def check_leader(
    deployment: ModelDeployment, *, serving: Serving, profile: Profile, drain: int
) -> Iterator[Problem]:
    """Yield a warning where an evicted leader of a deployment's pickers leaves gateways without one.

    `drain` are the seconds that pods of its engines have to end there. With FailOpen gateways choose pods
    themselves meanwhile.
    """
    picker = deployment.spec.endpoint_picker
    if picker.replicas == 1 or picker.failure_mode == "FailOpen" or profile.serves_on:
        return
    chosen = picker_flags.flags(deployment=deployment, serving=serving, profile=profile)
    without = unled_seconds(drain, profile, chosen)
    what = (
        f"of {picker.replicas} endpoint pickers of {profile.name} one leads, and once it is evicted it keeps "
        f"its Lease until it ends: for up to {without} s nobody chooses pods, and requests fail"
    )
    better = unled_seconds(drain, picker_row(NEWEST, disaggregated=False), {})
    step = (
        f"Write profile: {NEWEST}, whose leader gives it back after {better} s, or replicas: 1, which needs "
        "none: when it is evicted, another starts elsewhere in seconds"
    )
    yield _problem(deployment, ("endpointPicker", "replicas"), Mistake(what, step), "warning")


def _problem(
    deployment: ModelDeployment, below: tuple[str | int, ...], mistake: Mistake, severity: Severity = "error"
) -> Problem:
    return Problem(
        mistake.what,
        mistake.next_step,
        path_of(("spec", *below, *mistake.at)),
        kind="ModelDeployment",
        key=deployment.metadata.key,
        severity=severity,
    )


def _image_mistakes(deployment: ModelDeployment, serving: Serving, profile: Profile) -> Iterator[Mistake]:
    """Yield an error where the image is that of the usual pickers, by the last element of its path."""
    image, usual = deployment.spec.endpoint_picker.image, picker_row(serving.profile, disaggregated=False)
    if not image:
        return
    written, of_usual, of_profile = (
        reference_of(each).program for each in (image, usual.epp_image, profile.epp_image)
    )
    if written == of_usual != of_profile:
        what = f"with prefill apart the endpoint picker is another program than {shown(image)!r}"
        yield Mistake(what, f"Remove it, or write an image of {profile.epp_image}")


def _decider(deployment: ModelDeployment) -> Iterator[Problem]:
    """Yield a decider in the document that is not used, or with which SGLang refuses requests."""
    prefill, below = deployment.spec.prefill, ("prefill", "decider")
    if prefill is None or "decider" not in prefill.model_fields_set:
        return
    if deployment.spec.endpoint_picker.config is not None:
        what = "endpointPicker.config is used as it is written, so this decides nothing"
        mistake = Mistake(what, "Write it as a plugin of the config, and remove it here")
        yield _problem(deployment, below, mistake, "warning")
    elif prefill.decider.type == "PrefixBased" and always(deployment):
        what = "SGLang's decode pods refuse requests that are not prefilled apart, as PrefixBased leaves some"
        yield _problem(deployment, below, Mistake(what, "Write type: Always, or remove it"))


def _open(deployment: ModelDeployment) -> Iterator[Problem]:
    """Yield that a gateway may send requests to pods of prefill, and to decode pods without a prefill pod."""
    if not is_disaggregated(deployment) or deployment.spec.endpoint_picker.failure_mode != "FailOpen":
        return
    what = "without its picker a gateway sends requests to any pod of the pool, those of prefill among them"
    severity: Severity = "warning"
    if connector(deployment) == "SGLang":
        what += ", and SGLang's pods refuse all that come without the address of a prefill pod"
        severity = "error"
    mistake = Mistake(what, "Remove failureMode, or write FailClose")
    yield _problem(deployment, ("endpointPicker", "failureMode"), mistake, severity)


def _stale(deployment: ModelDeployment, chosen: Mapping[str, str], profile: Profile) -> Iterator[Problem]:
    """Yield that metrics are too old for the picker whenever it reads them again."""
    every = chosen.get("refresh-metrics-interval", odd.SCRAPED)
    limit = own_config.stale_after(deployment, profile)
    if (seconds(every) or 0) < (seconds(limit) or 0):
        return
    what = f"a pod counts as full while its metrics are older than {limit}, and they are read every {every}"
    step = "Write a shorter refresh-metrics-interval, or a config with a longer metricsStalenessThreshold"
    yield _problem(deployment, ("endpointPicker",), Mistake(what, step), "warning")


def _one_port(written: Mapping[str, Value], chosen: Mapping[str, str], profile: Profile) -> Iterator[Mistake]:
    """Yield an error where a cluster's own flags give two servers of its pickers one port."""
    port = picker_flags.metrics_port(chosen, profile)
    at = next((name for name in ("metrics-port", "grpc-health-port") if name in written), None)
    if at and port == picker_flags.health_port(chosen, profile):
        what = f"endpoint pickers would serve health and metrics both on port {port}"
        yield Mistake(what, "Give one of the two another port", (at,))


def _port_mistakes(deployment: ModelDeployment, serving: Serving, profile: Profile) -> Iterator[Mistake]:
    chosen = picker_flags.flags(deployment=deployment, serving=serving, profile=profile)
    used: dict[int, str] = {}
    for name, port in (
        ("health", picker_flags.health_port(chosen, profile)),
        ("metrics", picker_flags.metrics_port(chosen, profile)),
        ("gRPC", picker_flags.grpc_port(deployment, profile)),
    ):
        if port in used:
            what = f"the endpoint picker would serve {used[port]} and {name} both on port {port}"
            yield Mistake(what, "Give one of the two another port")
            return
        used[port] = name
