#!/usr/bin/env python3
"""Checks that the documents say what is there.

    tools/check_docs.py [ROOT]

Every folder of sources has a README.md; every relative link in a document leads
to a file; a C++ block behind a line `<!-- from PATH -->` stands in that file as
it is. Prints one line for each problem and exits with 1 if there is any.
"""

import os
import re
import sys

import source_tree

_LINK = re.compile(r'\]\(([^)#]+)(#[^)]*)?\)')
_QUOTE = re.compile(r'<!-- from (\S+) -->\n+```\w*\n(.*?)```', re.DOTALL)
_SOURCES = ('.h', '.cc', '.py', '.sh')
# Folders whose parent's README.md speaks for them.
_WITHOUT_README = re.compile(r'\.ci|tools/.+|test/.+')


def _check_readmes(paths):
    folders = {os.path.dirname(path) for path in paths
               if path.endswith(_SOURCES)}
    for folder in sorted(folders):
        readme = os.path.join(folder, 'README.md')
        if readme not in paths and not _WITHOUT_README.fullmatch(folder):
            yield f'{folder}: has no README.md'


def _check_links(root, path, text):
    for target, _ in _LINK.findall(text):
        if re.match(r'[a-z]+:', target):
            continue
        file = os.path.join(root, os.path.dirname(path), target)
        if not os.path.exists(file):
            yield f'{path}: {target} does not exist'


def _check_quotes(root, path, text):
    for source, code in _QUOTE.findall(text):
        try:
            whole = '\n'.join(source_tree.lines(root, source)) + '\n'
        except OSError:
            yield f'{path}: quotes {source}, which does not exist'
            continue
        if code not in whole:
            yield f'{path}: what it quotes from {source} does not stand there'


def check(root):
    """All problems below `root`, each as one line of text."""
    paths = source_tree.files(root)
    problems = list(_check_readmes(set(paths)))
    for path in paths:
        if path.endswith('.md'):
            text = '\n'.join(source_tree.lines(root, path)) + '\n'
            problems += _check_links(root, path, text)
            problems += _check_quotes(root, path, text)
    return problems


def main():
    here = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    problems = check(sys.argv[1] if len(sys.argv) > 1 else here)
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == '__main__':
    sys.exit(main())
