#!/usr/bin/env python3
"""Checks that clang-format would change nothing.

    tools/check_format.py [ROOT]

Prints clang-format's complaints and exits with 1 if there is any.
"""

import os
import subprocess
import sys

import source_tree


def check(root):
    """What clang-format says about the C++ files below `root`, '' if nothing."""
    sources = [path for path in source_tree.files(root)
               if path.endswith(('.h', '.cc'))]
    if not sources:
        return ''
    done = subprocess.run(
        ['clang-format-14', '--dry-run', '--Werror', *sources],
        cwd=root, stderr=subprocess.PIPE, text=True, check=False)
    return done.stderr if done.returncode != 0 else ''


def main():
    here = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    problems = check(sys.argv[1] if len(sys.argv) > 1 else here)
    print(problems, end='')
    return 1 if problems else 0


if __name__ == '__main__':
    sys.exit(main())
