"""The project's rules: one place for warnings, include paths and tags."""

load("@rules_cc//cc:defs.bzl", "cc_binary", "cc_library", "cc_test")

# Warnings of the library are errors; -Wold-style-cast and -Wconversion find
# what a review does not.
_WARNINGS = [
    "-Wall",
    "-Wextra",
    "-Wshadow",
    "-Wconversion",
    "-Wold-style-cast",
    "-Werror",
]

# googletest's and benchmark's macros do not survive -Wconversion.
_TEST_WARNINGS = [
    "-Wall",
    "-Wextra",
    "-Werror",
]

def weir_library(name, copts = [], **kwargs):
    """A library whose headers are included as weir/<layer>/<name>.h."""
    cc_library(
        name = name,
        copts = _WARNINGS + copts,
        strip_include_prefix = "/lib",
        **kwargs
    )

def weir_app(name, copts = [], **kwargs):
    """An executable users run."""
    cc_binary(
        name = name,
        copts = _WARNINGS + copts,
        **kwargs
    )

def weir_app_library(name, copts = [], **kwargs):
    """A part of an app; its headers are included by path from the top."""
    cc_library(
        name = name,
        copts = _WARNINGS + copts,
        **kwargs
    )

def weir_test(name, deps = [], copts = [], **kwargs):
    """A GoogleTest executable."""
    cc_test(
        name = name,
        copts = _TEST_WARNINGS + copts,
        deps = deps + ["@googletest//:gtest_main"],
        **kwargs
    )

def weir_test_library(name, copts = [], **kwargs):
    """A helper of tests; its headers are included by path from the top."""
    cc_library(
        name = name,
        testonly = True,
        copts = _TEST_WARNINGS + copts,
        **kwargs
    )

def weir_fuzz_test(name, srcs, corpus, deps = [], copts = [], **kwargs):
    """A libFuzzer target, and a test that runs its corpus with any compiler.

    `srcs` define LLVMFuzzerTestOneInput. `name` wants --config=fuzz and is
    built by hand only; <name>_corpus_test gives every file of `corpus` to the
    same function once.
    """
    cc_binary(
        name = name,
        testonly = True,
        srcs = srcs,
        copts = _TEST_WARNINGS + copts,
        linkopts = ["-fsanitize=fuzzer"],
        tags = [
            "fuzz",
            "manual",
        ],
        deps = deps,
        **kwargs
    )
    cc_test(
        name = name + "_corpus_test",
        size = "small",
        srcs = srcs,
        args = ["$(locations %s)" % corpus],
        copts = _TEST_WARNINGS + copts,
        data = [corpus],
        deps = deps + ["//test/fuzz:corpus_main"],
        **kwargs
    )

def weir_script_test(name, srcs, data = [], deps = [], **kwargs):
    """A test that is an executable script, Python or Bash.

    It runs at the top of the checkout's files. Python modules in `deps`,
    filegroups of //tools, //test/support or //test/system, are found by their bare names.
    """
    native.sh_test(
        name = name,
        srcs = srcs,
        data = data + deps,
        env = {
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONPATH": "tools:test/support:test/system",
        },
        **kwargs
    )

def weir_bench(name, deps = [], copts = [], tags = [], **kwargs):
    """A Google Benchmark executable: built and run by hand only."""
    cc_binary(
        name = name,
        testonly = True,
        copts = _TEST_WARNINGS + copts,
        tags = tags + [
            "bench",
            "manual",
        ],
        deps = deps + ["@benchmark//:benchmark_main"],
        **kwargs
    )
