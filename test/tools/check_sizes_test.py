#!/usr/bin/env python3
"""check_sizes.py accepts this tree and finds files that are too long."""

import os
import tempfile
import unittest

import check_sizes
import script_main


def _problems(path, lines):
    """What check_sizes says about a tree of one file."""
    with tempfile.TemporaryDirectory() as root:
        os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
        with open(os.path.join(root, path), 'w', encoding='utf-8') as file:
            file.write('x\n' * lines)
        return check_sizes.check(root)


class CheckSizesTest(unittest.TestCase):

    def test_this_tree_has_no_long_files(self):
        root = os.path.dirname(os.path.realpath('WORKSPACE'))
        self.assertTrue(os.path.isdir(os.path.join(root, 'lib', 'weir')))
        self.assertEqual(check_sizes.check(root), [])

    def test_limits_each_kind_of_file(self):
        for path, limit in [('lib/weir/mbuf/mbuf.h', 250),
                            ('lib/weir/mbuf/mbuf_pool.cc', 400),
                            ('test/mbuf/mbuf_test.cc', 400),
                            ('lib/weir/mbuf/BUILD', 600),
                            ('README.md', 150),
                            ('lib/weir/mbuf/README.md', 40),
                            ('docs/packet_walk.md', 200)]:
            self.assertEqual(_problems(path, limit), [])
            self.assertEqual(_problems(path, limit + 1),
                             [f'{path}: {limit + 1} lines, {limit} at most'])

    def test_lets_the_changelog_grow(self):
        self.assertEqual(_problems('CHANGELOG.md', 5000), [])


if __name__ == '__main__':
    script_main.main()
