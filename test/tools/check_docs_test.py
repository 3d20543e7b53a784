#!/usr/bin/env python3
"""check_docs.py accepts this tree and finds what documents get wrong."""

import os
import tempfile
import unittest

import check_docs
import script_main


def _problems(files):
    """What check_docs says about a tree of {path: text}."""
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(root, path), 'w', encoding='utf-8') as file:
                file.write(text)
        return check_docs.check(root)


def _quote(code):
    return f'<!-- from a/b.cc -->\n```cpp\n{code}```\n'


class CheckDocsTest(unittest.TestCase):

    def test_this_tree_is_documented(self):
        root = os.path.dirname(os.path.realpath('WORKSPACE'))
        self.assertTrue(os.path.isdir(os.path.join(root, 'lib', 'weir')))
        self.assertEqual(check_docs.check(root), [])

    def test_wants_a_readme_in_every_folder_of_sources(self):
        self.assertEqual(_problems({'lib/weir/net/tcp.h': ''}),
                         ['lib/weir/net: has no README.md'])
        self.assertEqual(_problems({'test/net/tcp_test.cc': ''}), [])

    def test_follows_links(self):
        self.assertEqual(
            _problems({'docs/a.md': '[x](../b.md) [y](c.md#part) [z](d/)\n',
                       'b.md': '[web](https://example.org/x) [here](#part)\n'}),
            ['docs/a.md: c.md does not exist', 'docs/a.md: d/ does not exist'])

    def test_compares_quotes(self):
        files = {'a/README.md': '', 'a/b.cc': 'int a;\nint b;\nint c;\n'}
        self.assertEqual(_problems({**files, 'x.md': _quote('int b;\n')}), [])
        self.assertEqual(
            _problems({**files, 'x.md': _quote('int d;\n')}),
            ['x.md: what it quotes from a/b.cc does not stand there'])
        self.assertEqual(
            _problems({'x.md': _quote('int b;\n')}),
            ['x.md: quotes a/b.cc, which does not exist'])


if __name__ == '__main__':
    script_main.main()
