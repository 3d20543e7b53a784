"""The files of a checkout, for the checks that read all of them."""

import os

_SKIPPED_FOLDERS = {'.git', '__pycache__'}


def files(root):
    """Paths of all files below `root`, relative to it and sorted.

    Bazel's links and Git's folder are left out.
    """
    found = []
    for folder, subfolders, names in os.walk(root):
        subfolders[:] = sorted(
            name for name in subfolders
            if name not in _SKIPPED_FOLDERS and not name.startswith('bazel-'))
        for name in names:
            path = os.path.relpath(os.path.join(folder, name), root)
            found.append(path)
    return sorted(found)


def lines(root, path):
    """The lines of the file at `path` below `root`, without their ends."""
    with open(os.path.join(root, path), encoding='utf-8') as file:
        return file.read().splitlines()
