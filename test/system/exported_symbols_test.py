#!/usr/bin/env python3
"""libweir_hca.so exports what libibverbs.so.1 does, and nothing else.

A program that was linked with libibverbs finds each of its functions in the
preloaded library under the same version node. One that is missing there would
take a soft object to the real library, which would crash on it.
"""

import re
import subprocess
import unittest

import script_main

_OURS = 'lib/weir/hca/abi/libweir_hca.so'

# Functions of libibverbs that are for providers and librdmacm, not for programs:
# they take no object that a soft device hands out.
_NOT_FOR_PROGRAMS = {
    'ibv_copy_ah_attr_from_kern',
    'ibv_copy_path_rec_from_kern',
    'ibv_copy_path_rec_to_kern',
    'ibv_copy_qp_attr_from_kern',
    'ibv_get_sysfs_path',
    'ibv_register_driver',
}

# Those of rdma-core after the installed one.
_LATER = {
    'ibv_alloc_dmah@IBVERBS_1.15',
    'ibv_reg_mr_ex@IBVERBS_1.15',
    'ibv_query_port_speed@IBVERBS_1.16',
    'ibv_alloc_buf@IBVERBS_1.17',
    'ibv_reg_buf_mr@IBVERBS_1.17',
    'ibv_create_comp_cntr@IBVERBS_1.18',
    'ibv_query_comp_cntr_caps@IBVERBS_1.18',
}

_PRIVATE = re.compile(r'@IBVERBS_PRIVATE_\d+$')


def _run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True,
                          check=True).stdout


def _exported(library):
    """The defined dynamic symbols as name@node, default or not."""
    symbols = set()
    for line in _run('readelf', '--wide', '--dyn-syms', library).splitlines():
        fields = line.split()
        if len(fields) < 8 or fields[4] not in ('GLOBAL', 'WEAK'):
            continue
        if fields[6] in ('UND', 'ABS'):
            continue
        symbols.add(fields[7].replace('@@', '@'))
    return symbols


def _installed():
    for line in _run('/sbin/ldconfig', '-p').splitlines():
        match = re.match(r'\s*libibverbs\.so\.1 .*=> (\S+)', line)
        if match:
            return match[1]
    raise AssertionError('libibverbs.so.1 is not installed')


def _is_for_programs(symbol, of_installed):
    name, node = symbol.split('@')
    if name in _NOT_FOR_PROGRAMS or _PRIVATE.search(symbol):
        return False
    # The variants of version 1.0 take other structs; they stay where they are.
    return node != 'IBVERBS_1.0' or f'{name}@IBVERBS_1.1' not in of_installed


class ExportedSymbolsTest(unittest.TestCase):

    def setUp(self):
        self.ours = _exported(_OURS)
        self.installed = _exported(_installed())
        self.public = {symbol for symbol in self.installed
                       if _is_for_programs(symbol, self.installed)}

    def test_every_function_for_programs_is_there_under_its_node(self):
        self.assertGreater(len(self.public), 60)
        self.assertEqual(self.public - self.ours, set())

    def test_nothing_else_is(self):
        others = self.ours - self.public - _LATER
        own = {symbol for symbol in others
               if re.fullmatch(r'weir_hca_\w+@WEIR_HCA_1\.0', symbol)}
        private = {symbol for symbol in others if _PRIVATE.search(symbol)}
        self.assertEqual(others - own - private, set())
        self.assertEqual(_LATER - self.ours, set())
        self.assertEqual({symbol.split('@')[0] for symbol in private},
                         {'ibv_query_gid_type'})

    def test_tools_of_other_versions_find_their_private_function(self):
        for number in (34, 57, 65):
            self.assertIn(f'ibv_query_gid_type@IBVERBS_PRIVATE_{number}',
                          self.ours)


if __name__ == '__main__':
    script_main.main()
