#!/usr/bin/env python3
"""check_layers.py accepts this tree and finds each kind of violation."""

import os
import tempfile
import unittest

import check_layers
import script_main


def _problems(files):
    """What check_layers says about a tree of {path: text}."""
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(root, path), 'w', encoding='utf-8') as file:
                file.write(text)
        return check_layers.check(root)


def _problem_of(path, include):
    """What it says about one file with one #include, '' if nothing."""
    problems = _problems({path: f'#include {include}\n'})
    assert len(problems) <= 1, problems
    return problems[0] if problems else ''


class CheckLayersTest(unittest.TestCase):

    def test_this_tree_is_layered(self):
        root = os.path.dirname(os.path.realpath('WORKSPACE'))
        self.assertTrue(os.path.isdir(os.path.join(root, 'lib', 'weir')))
        self.assertEqual(check_layers.check(root), [])

    def test_takes_lower_layers_and_the_own_one(self):
        for include in ['"weir/base/check.h"', '"weir/mbuf/burst.h"',
                        '"weir/verbs/device.h"', '"weir/port/port.h"']:
            self.assertEqual(_problem_of('lib/weir/port/rx_queue.h', include), '')

    def test_rejects_a_higher_layer(self):
        self.assertEqual(
            _problem_of('lib/weir/base/check.h', '"weir/mbuf/mbuf.h"'),
            'lib/weir/base/check.h:1: weir/mbuf/mbuf.h: '
            'base may not include mbuf')

    def test_rejects_a_sibling(self):
        self.assertIn('stage may not include port',
                      _problem_of('lib/weir/stage/parse.h', '"weir/port/port.h"'))

    def test_keeps_the_layers_and_the_hca_apart(self):
        self.assertIn('port may not include hca',
                      _problem_of('lib/weir/port/port.cc', '"weir/hca/qp.h"'))
        self.assertIn('hca may not include mbuf',
                      _problem_of('lib/weir/hca/qp.cc', '"weir/mbuf/mbuf.h"'))
        self.assertIn('do not include it',
                      _problem_of('apps/l2fwd/main.cc', '"weir/hca/qp.h"'))

    def test_gives_the_control_abi_to_verbs_and_hca_only(self):
        include = '"weir/hca_control/hca_control.h"'
        self.assertEqual(_problem_of('lib/weir/verbs/soft_hca.cc', include), '')
        self.assertEqual(_problem_of('lib/weir/hca/abi/abi.cc', include), '')
        self.assertIn('port may not',
                      _problem_of('lib/weir/port/port.cc', include))

    def test_keeps_system_headers_in_their_folders(self):
        for path, include in [
                ('lib/weir/stage/parse.cc', '<infiniband/verbs.h>'),
                ('lib/weir/port/port.h', '<hwloc.h>'),
                ('lib/weir/topo/topology.h', '<hwloc.h>'),
                ('lib/weir/hca/qp.cc', '<linux/if_packet.h>'),
                ('lib/weir/mbuf/mbuf.h', '<rte_mbuf.h>')]:
            self.assertIn('only in', _problem_of(path, include), path)
        for path, include in [
                ('lib/weir/verbs/device.h', '<infiniband/verbs.h>'),
                ('lib/weir/port/rx_queue.h', '<infiniband/verbs.h>'),
                ('lib/weir/topo/topology.cc', '<hwloc.h>'),
                ('lib/weir/hca/backend/packet.cc', '<linux/if_packet.h>'),
                ('bench/mbuf/twin.cc', '<rte_mbuf.h>')]:
            self.assertEqual(_problem_of(path, include), '')

    def test_rejects_what_is_not_in_the_table(self):
        self.assertIn('no such layer',
                      _problem_of('lib/weir/app/app.h', '"weir/utils/text.h"'))
        self.assertIn('not in the layer table',
                      _problem_of('lib/weir/utils/text.h', '<string>'))

    def test_rejects_short_paths_and_test_headers_in_the_library(self):
        self.assertIn('from the top',
                      _problem_of('lib/weir/base/check.cc', '"check.h"'))
        self.assertIn('only tests',
                      _problem_of('lib/weir/net/tcp.cc', '"test/support/frame.h"'))

    def test_sees_includes_behind_blanks(self):
        problems = _problems(
            {'lib/weir/base/a.h': '\n  #  include   "weir/app/app.h"\n'})
        self.assertEqual(len(problems), 1)
        self.assertIn('lib/weir/base/a.h:2:', problems[0])


if __name__ == '__main__':
    script_main.main()
