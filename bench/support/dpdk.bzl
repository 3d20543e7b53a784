"""Benchmarks of DPDK's side of a comparison. weir itself never links it."""

load("@rules_cc//cc:defs.bzl", "cc_binary")

# The same for both sides: what Debian's DPDK is built for, and -O3.
PEER_COPTS = [
    "-O3",
    "-march=corei7",
]

# What `pkg-config --cflags libdpdk` says beyond -march.
_DPDK_COPTS = [
    "-isystem/usr/include/dpdk",
    "-isystem/usr/include/x86_64-linux-gnu/dpdk",
    "-includerte_config.h",
]

def dpdk_bench(name, deps = [], **kwargs):
    """A Google Benchmark executable with its own main() over DPDK."""
    cc_binary(
        name = name,
        testonly = True,
        copts = PEER_COPTS + _DPDK_COPTS,
        tags = [
            "bench",
            "manual",
        ],
        deps = deps + [
            "//bench/support:dpdk_main",
            "@dpdk",
        ],
        **kwargs
    )
