#!/usr/bin/env python3
"""Checks that no file grew too long to be read in one sitting.

    tools/check_sizes.py [ROOT]

Prints one line for each file that is too long and exits with 1 if there is
any. Functions are clang-tidy's part (readability-function-size).
"""

import os
import re
import sys

import source_tree

# The first pattern that matches a path gives its limit in lines.
_LIMITS = [
    (r'README\.md', 150),
    # Recorded numbers need room.
    (r'bench/README\.md', 250),
    (r'.*/README\.md', 40),
    (r'CHANGELOG\.md|LICENSE', None),
    # Inputs of the fuzz targets: bytes of any kind.
    (r'test/fuzz/corpus/.*', None),
    (r'docs/.*\.md', 200),
    # Lists to look a target up in.
    (r'(.*/)?BUILD', 600),
    (r'.*\.h', 250),
    (r'.*', 400),
]


def _limit_of(path):
    """The limit of the file at `path` in lines, None if it has none."""
    for pattern, limit in _LIMITS:
        if re.fullmatch(pattern, path):
            return limit
    return None


def check(root):
    """All files below `root` that are too long, each as one line of text."""
    problems = []
    for path in source_tree.files(root):
        limit = _limit_of(path)
        if limit is None:
            continue
        size = len(source_tree.lines(root, path))
        if size > limit:
            problems.append(f'{path}: {size} lines, {limit} at most')
    return problems


def main():
    here = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    problems = check(sys.argv[1] if len(sys.argv) > 1 else here)
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == '__main__':
    sys.exit(main())
