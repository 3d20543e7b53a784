"""Libraries of the system as Bazel repositories.

Their headers are in the compiler's default search path, so each target only
carries what to link.
"""

_LIBRARIES = [
    "absl",
    "benchmark",
    "bpf",
    "dpdk",
    "googletest",
    "hwloc",
    "ibverbs",
    "ncurses",
    "openssl",
]

def system_libraries():
    """Adds them to the calling workspace: this one, or that of a user."""
    for name in _LIBRARIES:
        native.new_local_repository(
            name = name,
            build_file = str(Label("//tools/third_party:%s.BUILD" % name)),
            path = "/usr/share/doc/bazel-bootstrap",
        )
