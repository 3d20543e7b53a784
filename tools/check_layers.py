#!/usr/bin/env python3
"""Checks every #include of the project against the layer table.

    tools/check_layers.py [ROOT]

Bazel's visibility rejects an upward dependency, but an include that comes in
through another target's headers still compiles: this reads the lines. Prints
one line for each violation and exits with 1 if there is any.
"""

import os
import re
import sys

import source_tree

# A layer may include itself and the layers on lower rows; never another one on
# its own row.
_ROWS = [
    ['base'],
    ['net', 'ring', 'memory', 'topo', 'metrics', 'control'],
    ['mbuf', 'membership'],
    ['verbs', 'pipeline'],
    ['port', 'stage', 'capture'],
    ['runtime'],
    ['app'],
]
_RANKS = {layer: rank for rank, row in enumerate(_ROWS) for layer in row}

# Beside the rows: the software HCA, and the C ABI between it and the code above
# the verbs.
_BESIDE = {
    'hca': {'base', 'net', 'ring', 'hca_control'},
    'hca_control': set(),
}

# Headers of the system that only some folders may include: a pattern, and the
# prefixes of the paths where it is allowed.
_SYSTEM_RULES = [
    (r'infiniband/.*',
     ['lib/weir/verbs/', 'lib/weir/port/', 'lib/weir/hca/', 'test/',
      'bench/']),
    (r'hwloc\.h|hwloc/.*', ['lib/weir/topo/']),
    (r'linux/.*',
     ['lib/weir/hca/backend/', 'lib/weir/memory/', 'lib/weir/topo/', 'test/',
      'bench/']),
    (r'rte_.*', ['bench/']),
]

_INCLUDE = re.compile(r'\s*#\s*include\s*([<"])([^>"]+)[>"]')
_SOURCES = ('.h', '.cc', '.c', '.inc')


def _layer_of(path):
    """The layer that the file at `path` belongs to, None outside lib/weir."""
    parts = path.split('/')
    return parts[2] if parts[:2] == ['lib', 'weir'] and len(parts) > 3 else None


def _allowed_layers(layer):
    """What files of `layer` may include besides their own layer."""
    if layer in _BESIDE:
        return _BESIDE[layer]
    allowed = {name for name, rank in _RANKS.items() if rank < _RANKS[layer]}
    if layer == 'verbs':
        allowed.add('hca_control')
    return allowed


def _check_weir_include(path, header):
    """What is wrong with including weir/... from `path`, None if nothing."""
    included = header.split('/')[1]
    if included not in _RANKS and included not in _BESIDE:
        return f'{header}: no such layer'
    layer = _layer_of(path)
    if layer is None:
        if path.startswith('apps/') and included in _BESIDE:
            return f'{header}: apps link the HCA, they do not include it'
        return None
    if included != layer and included not in _allowed_layers(layer):
        return f'{header}: {layer} may not include {included}'
    return None


def _check_include(path, bracket, header):
    """What is wrong with one #include of the file at `path`, None if nothing."""
    if header.startswith('weir/'):
        return _check_weir_include(path, header)
    if header.startswith('test/') and not path.startswith(('test/', 'bench/')):
        return f'{header}: only tests include test/'
    if bracket == '"' and '/' not in header:
        return f'{header}: write the path from the top'
    for pattern, places in _SYSTEM_RULES:
        if re.fullmatch(pattern, header):
            if not path.startswith(tuple(places)):
                return f'{header}: only in {", ".join(places)}'
            if header.startswith('hwloc') and not path.endswith('.cc'):
                return f'{header}: only in .cc files'
    return None


def check(root):
    """All violations below `root`, each as one line of text."""
    problems = []
    for path in source_tree.files(root):
        if not path.endswith(_SOURCES):
            continue
        layer = _layer_of(path)
        if layer is not None and layer not in _RANKS and layer not in _BESIDE:
            problems.append(f'{path}: {layer} is not in the layer table')
            continue
        for number, line in enumerate(source_tree.lines(root, path), 1):
            match = _INCLUDE.match(line)
            problem = match and _check_include(path, *match.groups())
            if problem:
                problems.append(f'{path}:{number}: {problem}')
    return problems


def main():
    here = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    problems = check(sys.argv[1] if len(sys.argv) > 1 else here)
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == '__main__':
    sys.exit(main())
