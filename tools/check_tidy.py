#!/usr/bin/env python3
"""Runs clang-tidy over the library and the apps, a file a core at a time.

    tools/check_tidy.py [FILE...]

Takes some seconds a file, so it is no test: .ci/run calls it. Prints what
clang-tidy found and exits with 1 if that was anything.
"""

import concurrent.futures
import os
import subprocess
import sys

import source_tree

_ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))


def _check(path):
    """What clang-tidy says about the file at `path`, '' if nothing."""
    done = subprocess.run(
        ['clang-tidy-14', '--quiet', path, '--', '-std=c++20', '-Ilib', '-I.'],
        cwd=_ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        text=True, check=False)
    return f'{path}:\n{done.stdout}' if done.returncode != 0 else ''


def main():
    paths = sys.argv[1:] or [
        path for path in source_tree.files(_ROOT)
        if path.startswith(('lib/', 'apps/')) and path.endswith('.cc')]
    failed = False
    workers = len(os.sched_getaffinity(0))
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        for problem in pool.map(_check, paths):
            print(problem, end='', flush=True)
            failed = failed or bool(problem)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
