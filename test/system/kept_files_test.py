#!/usr/bin/env python3
"""Files that a run is not to write: that of --json until the run is over."""

import os
import subprocess
import tempfile
import unittest

import l2fwd
import script_main

_OLD = b'what was there before'


def _run(program, *arguments, **kwargs):
    return subprocess.run([program, *arguments], text=True, check=False,
                          capture_output=True, **kwargs)


class KeptFilesTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.old = self.path('old')
        with open(self.old, 'wb') as file:
            file.write(_OLD)
        self.missing = self.path('missing')

    def path(self, name):
        return os.path.join(self.folder, name)

    def content(self, path):
        with open(path, 'rb') as file:
            return file.read()

    def test_a_failed_start_leaves_the_file_of_json_alone(self):
        for path in (self.old, self.missing):
            done = _run(l2fwd.PATH, 'null:', 'nul:', f'--json={path}')
            self.assertEqual(done.returncode, 1)
            self.assertIn('nul:', done.stderr)
        self.assertEqual(self.content(self.old), _OLD)
        self.assertFalse(os.path.exists(self.missing))

    def test_json_takes_the_place_of_what_was_there(self):
        with open(self.old, 'wb') as file:
            file.write(b'x' * 100_000)
        done = _run(l2fwd.PATH, 'null:', 'null:', '--duration=1ms',
                    f'--json={self.old}')
        self.assertEqual(done.returncode, 0, done)
        self.assertNotIn(b'x' * 100, self.content(self.old))


if __name__ == '__main__':
    script_main.main()
