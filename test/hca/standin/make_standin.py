#!/usr/bin/env python3
"""Writes the functions of a stand-in for libibverbs, and its version script.

Called as `make_standin.py VERSIONS LAST SOURCE SCRIPT`: the functions that the
version script VERSIONS of libweir_hca.so names, up to node LAST. Each does
nothing but record its name and arguments.
"""

import re
import sys

# Written by hand in standin.cc.
_BY_HAND = {'ibv_get_device_list', 'ibv_free_device_list', 'ibv_open_device'}


def _nodes(path):
    """(node, names) in the order of the file, without those that are empty."""
    with open(path, encoding='utf-8') as file:
        text = re.sub(r'/\*.*?\*/', '', file.read(), flags=re.DOTALL)
    for node, block in re.findall(r'(IBVERBS\w*(?:\.\d+)?) \{(.*?)\}', text,
                                  flags=re.DOTALL):
        names = re.findall(r'(\w+);', block.replace('local:', ''))
        if names:
            yield node, names


def _main(versions, last, source, script):
    private = {'IBVERBS_PRIVATE_34'}
    kept = []
    reached = False
    for node, names in _nodes(versions):
        if not reached or node in private:
            kept.append((node, names))
        reached = reached or node == last
    with open(source, 'w', encoding='utf-8') as out:
        out.write('#include "test/hca/standin/standin.h"\n')
        for name in sorted({name for _, names in kept for name in names}):
            if name not in _BY_HAND:
                out.write(
                    f'extern "C" uint64_t {name}(uint64_t a, uint64_t b, '
                    'uint64_t c, uint64_t d, uint64_t e, uint64_t f) {\n'
                    f'  return standin_record("{name}", a, b, c, d, e, f);\n'
                    '}\n')
    with open(script, 'w', encoding='utf-8') as out:
        for node, names in kept:
            out.write(f'{node} {{ global: {"; ".join(names)}; }};\n')
        out.write('STANDIN_1.0 { global: standin_*; local: *; };\n')


if __name__ == '__main__':
    _main(*sys.argv[1:])
