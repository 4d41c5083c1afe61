"""`inferfleet validate`: every problem of documents, classes, settings, lock and policies."""

from inferfleet.api.problems import of_severity
from inferfleet.cli.exit_codes import ExitCode
from inferfleet.cli.output import print_line
from inferfleet.cli.report import reporting
from inferfleet.cli.source import AsJson, Paths, StackName, read_source
from inferfleet.desired.gate import announcements, refusals


def validate(paths: Paths = None, stack: StackName = None, as_json: AsJson = False) -> None:
    """Check documents, classes, settings, lock and policies: everything that `pulumi up` would refuse without
    asking a cluster.
    """
    with reporting(as_json=as_json) as report:
        source = read_source(paths, stack)
        documents, lock = source.documents, source.lock
        report.documents = documents
        report.problems += source.notices
        counts = {
            "classes": len(documents.classes),
            "clusters": len(documents.clusters),
            "deployments": len(documents.deployments),
            "services": len(documents.services),
        }
        report.values["documents"] = counts
        desired = source.desired()
        report.problems += announcements(desired, documents, lock, locked=False, preview=False)
        of_policies = source.of_policies(desired)
        report.problems += of_policies
        unplaced = refusals(desired, documents, lock, locked=False, preview=False)
        report.problems += unplaced
        broken = of_severity(of_policies, "error")
        if broken:
            report.code = ExitCode.PROBLEMS
        elif unplaced:
            report.code = ExitCode.UNPLACED
        elif not as_json:
            print_line("valid: " + ", ".join(f"{kind} {number}" for kind, number in counts.items()))
