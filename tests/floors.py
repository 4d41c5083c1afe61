"""The floors of the house, and what each room may use of what is not ours: the data of test_floors.py.

A name that nobody uses any longer fails the tests as an import too many does, so these lists are true.
"""

import sys

# From the ground up. A room imports from the floors below and from itself; rooms of one floor do not know
# each other, nor what is inside the other. A room is a package with all its sub-packages, or a single module;
# the longest name counts.
FLOORS: tuple[tuple[str, ...], ...] = (
    ("inferfleet", "inferfleet.tables", "inferfleet.starting"),
    ("inferfleet.documents.wording",),
    ("inferfleet.documents.problems",),
    ("inferfleet.documents.work", "inferfleet.documents.quantity"),
    ("inferfleet.documents.pods",),
    ("inferfleet.documents.yaml", "inferfleet.documents.kinds"),
    ("inferfleet.documents.documents",),
    ("inferfleet.documents.loading",),
    ("inferfleet.documents",),
    ("inferfleet.fleet.node_conditions", "inferfleet.fleet.shapes", "inferfleet.fleet.spot"),
    (
        "inferfleet.fleet.selectors",
        "inferfleet.fleet.lock",
        "inferfleet.fleet.names",
        "inferfleet.fleet.roles",
    ),
    ("inferfleet.fleet.accelerators",),
    ("inferfleet.fleet.demands",),
    ("inferfleet.fleet.decisions",),
    ("inferfleet.fleet.placement",),
    ("inferfleet.fleet.advice",),
    ("inferfleet.fleet",),
    (
        "inferfleet.plugins",
        "inferfleet.serving.adapter_guard",
        "inferfleet.serving.adapter_loader",
        "inferfleet.serving.engines",
        "inferfleet.serving.filling",
        "inferfleet.serving.metadata",
        "inferfleet.serving.programs",
    ),
    ("inferfleet.serving.weights",),
    ("inferfleet.serving.adapters",),
    ("inferfleet.serving.pod",),
    ("inferfleet.serving.picker",),
    ("inferfleet.serving",),
    ("inferfleet.cloud.values",),
    ("inferfleet.cloud.gke.facts",),
    ("inferfleet.cloud.gke",),
    ("inferfleet.cloud",),
    ("inferfleet.desired",),
    ("inferfleet.clusters.connections", "inferfleet.plugins.loading"),
    ("inferfleet.clusters.preflight",),
    ("inferfleet.clusters.status",),
    ("inferfleet.clusters.chat",),
    ("inferfleet.clusters.update",),
    ("inferfleet.clusters",),
    ("inferfleet.recovery", "inferfleet.rendering", "inferfleet.review.policy"),
    ("inferfleet.review.digest", "inferfleet.review.commit"),
    ("inferfleet.review",),
    ("inferfleet.run",),
    ("inferfleet.components",),
    ("inferfleet.program", "inferfleet.cli"),
    ("sandbox",),
    ("__main__",),
)
# Who knows a cloud from inside: the table of providers, and what asks it over the network. Everybody else
# asks the provider, so another cloud is a room of its own and few places more.
CLOUDS = {
    "inferfleet.cloud.gke": {
        "inferfleet.cloud.provider",
        "inferfleet.clusters.connections.google",
        "inferfleet.clusters.preflight.projects",
        "inferfleet.clusters.preflight.quotas",
        "inferfleet.clusters.preflight.surroundings",
    },
}
# What the package offers to programs, imported only where one asks for it.
OFFERED = ("inferfleet", "inferfleet.components.fleet")
# The one module that knows the sandbox, and the one module of it that is known.
SANDBOX_VERB = ("inferfleet.cli.main", "sandbox.verbs.sandbox")
# Import modules by names from a table. The table is in the same file, so its names are seen all the same.
IMPORTS_FROM_A_TABLE = ("inferfleet.cli.main", "inferfleet.plugins.registry")

# Modules of other people that every room may import: they compute, and ask neither the system nor the
# network. `pathlib` is among them because a path is a value; TOUCHES has its methods that touch files.
PURE = {
    "base64",
    "binascii",
    "collections",
    "contextlib",
    "contextvars",
    "copy",
    "dataclasses",
    "datetime",
    "decimal",
    "difflib",
    "enum",
    "fractions",
    "functools",
    "hashlib",
    "ipaddress",
    "itertools",
    "json",
    "jsonpatch",
    "jsonpointer",
    "marshal",
    "math",
    "operator",
    "pathlib",
    "pydantic",
    "pydantic_core",
    "re",
    "shlex",
    "types",
    "typing",
    "urllib.parse",
    "yaml",
}
# What a room imports besides. A room that is not here decides, and touches nothing outside.
OUTSIDE = {
    "inferfleet.starting": {"atexit", "gc"},
    "inferfleet.documents.documents": {"os.path"},
    "inferfleet.documents.loading": {"ast", "fcntl", "glob", "inspect", "os", "stat", "sys", "tempfile"},
    "inferfleet.fleet.advice": {"heapq"},
    "inferfleet.fleet.placement": {"bisect", "heapq"},
    # CEL, the types of its values, and its regular expressions, which are matched in linear time.
    "inferfleet.fleet.selectors": {"bisect", "cel_expr_python", "google.protobuf", "re2", "semver"},
    # Reads lists of words, and raises where it would end the program.
    "inferfleet.serving.engines": {"argparse"},
    # Programs that run elsewhere: within an engine, beside it, and in a Job.
    "inferfleet.serving.adapter_guard": {"hmac"},
    "inferfleet.serving.adapter_loader": {
        "http",
        "io",
        "os",
        "shutil",
        "sys",
        "threading",
        "time",
        "urllib",
    },
    "inferfleet.serving.filling": {
        "concurrent",
        "fnmatch",
        "huggingface_hub",
        "os",
        "shutil",
        "sys",
        "threading",
        "time",
    },
    "inferfleet.review.policy": {"cel_expr_python", "google.protobuf"},
    # Built-in plugins by a table; the line of a plugin that raised, what its functions take, what it says,
    # not other threads.
    "inferfleet.plugins": {"importlib", "inspect", "io", "logging", "sys", "traceback", "warnings"},
    # The only room that imports and runs code of others.
    "inferfleet.plugins.loading": {"importlib", "os", "sys"},
    "inferfleet.clusters.connections": {
        "google.auth",
        "importlib",
        "kubernetes",
        "logging",
        "os",
        "queue",
        "shutil",
        "ssl",
        "subprocess",
        "sys",
        "threading",
        "time",
        "urllib3",
        "warnings",
    },
    # Time limits of what they ask, many objects of an API server at once, and a gateway at its own address.
    "inferfleet.clusters.preflight": {"time"},
    # `inspect` says which inputs the installed classes of a cloud take, `secrets` invents values of Secrets.
    "inferfleet.components": {
        *("asyncio", "inspect", "os", "secrets", "weakref"),
        *("pulumi", "pulumi_gcp", "pulumi_kubernetes"),
    },
    "inferfleet.clusters.status": {"time"},
    "inferfleet.clusters.chat": {"ssl", "time", "urllib3"},
    "inferfleet.run": {"time"},
    # Pods are listened to, and hooks called, while the program goes on, within a time limit.
    "inferfleet.clusters.update": {"asyncio", "concurrent.futures", "threading", "time"},
    "inferfleet.recovery": {"os", "socket", "tempfile"},
    "inferfleet.rendering": {"os", "subprocess", "tempfile"},
    # Where the files of a commit are laid down.
    "inferfleet.review.commit": {"os", "tempfile"},
    "inferfleet.cli": {"html", "importlib", "io", "os", "rich", "sys", "time", "typer"},
    # And all of the standard library.
    "sandbox": {
        *("aiohttp", "cryptography", "envoy", "google", "grpc", "pulumi", "rich", "typer"),
        # What runs in vLLM's own Python, by its file.
        *("command_line", "safetensors", "tiny_model", "tokenizers", "torch", "transformers", "vllm"),
    },
    # The Pulumi program.
    "inferfleet.program": {"pulumi"},
}
STANDARD_LIBRARY = frozenset(sys.stdlib_module_names)

# Attributes that read or write files, or the clock; and builtins that do, or that run text as code. `replace`
# of a path is not among them, because texts have it too.
TOUCHES = {
    "absolute",
    "abspath",
    "chmod",
    "cwd",
    "exists",
    "fdopen",
    "getmtime",
    "getsize",
    "glob",
    "hardlink_to",
    "is_dir",
    "is_file",
    "is_mount",
    "is_symlink",
    "isdir",
    "isfile",
    "islink",
    "iterdir",
    "lexists",
    "lstat",
    "mkdir",
    "now",
    "open",
    "owner",
    "read_bytes",
    "read_text",
    "readlink",
    "realpath",
    "rename",
    "resolve",
    "rglob",
    "rmdir",
    "samefile",
    "stat",
    "symlink_to",
    "today",
    "touch",
    "unlink",
    "utcnow",
    "walk",
    "write_bytes",
    "write_text",
}
BUILTINS = {"breakpoint", "compile", "eval", "exec", "input", "open", "print"}
TOUCHING_ROOMS = {
    "inferfleet.documents.loading",
    "inferfleet.plugins.loading",
    "inferfleet.clusters.connections",
    "inferfleet.recovery",
    "inferfleet.rendering",
    "inferfleet.review.commit",
    "inferfleet.serving.adapter_loader",
    "inferfleet.serving.filling",
    "inferfleet.cli",
    "sandbox",
}
# Single modules that touch so much and no more.
TOUCHING_MODULES = {
    # Asks whether a file is named like a kubeconfig: that of a new cluster is known during the run alone.
    # The time at which pods were looked at, and that of an Event.
    "inferfleet.clusters.update.pods": {"now"},
    "inferfleet.clusters.update.hooks": {"now"},
    "inferfleet.components.provider": {"exists"},
    # The day, by which what capacity.lock saw is old; and the project that the program is in.
    "inferfleet.components.fleet": {"cwd", "today"},
    # A relative kubeconfig of a document that came from no file.
    "inferfleet.documents.documents": {"cwd"},
    # Their own tables, which are parts of the program and of no project.
    "inferfleet.documents.pods.types": {"read_text"},
    "inferfleet.cloud.gke.facts.schema": {"read_text"},
    "inferfleet.tables.flags": {"read_text"},
    # The programs that pods run, and of one of them what it reads.
    "inferfleet.serving.adapters": {"read_text"},
    "inferfleet.serving.adapter_guard": {"read_bytes"},
    "inferfleet.serving.weights": {"read_text"},
}

# Names by which the process environment is read: `home` and `expanduser` read $HOME, `envvar` is typer's.
ENVIRONMENT = {
    "*",
    "environ",
    "environb",
    "envvar",
    "expanduser",
    "expandvars",
    "getenv",
    "getenvb",
    "home",
    "putenv",
    "unsetenv",
}
# The two ways in, the two modules that hand it on to a child process, two that resolve `~` in a path, and
# programs that run elsewhere.
ENVIRONMENT_MODULES = {
    "inferfleet.components.fleet",
    "inferfleet.cli.source",
    "inferfleet.clusters.connections.exec_command",
    "inferfleet.clusters.connections.pulumi_command",
    "inferfleet.documents.documents",
    "inferfleet.recovery.locks",
    "inferfleet.serving.adapter_loader",
    "inferfleet.serving.filling",
    "inferfleet.rendering.commands",
}
