#!/usr/bin/env python3
"""check_format.py accepts this tree and finds what clang-format would change."""

import os
import tempfile
import unittest

import check_format
import script_main


class CheckFormatTest(unittest.TestCase):

    def test_this_tree_is_formatted(self):
        root = os.path.dirname(os.path.realpath('WORKSPACE'))
        self.assertTrue(os.path.isdir(os.path.join(root, 'lib', 'weir')))
        self.assertEqual(check_format.check(root), '')

    def test_finds_what_clang_format_would_change(self):
        with tempfile.TemporaryDirectory() as root:
            with open(os.path.join(root, 'a.cc'), 'w', encoding='utf-8') as file:
                file.write('int  main( ) {}\n')
            self.assertIn('a.cc:1', check_format.check(root))


if __name__ == '__main__':
    script_main.main()
