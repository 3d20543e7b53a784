#!/usr/bin/env python3
"""rdma-core's own tests on a soft device: what passes and what is skipped.

rdma_core_outcomes.txt says what has to come out, test by test, so that nothing
turns from passed to skipped unseen. Most tests need queue pairs, or objects,
that have no meaning for raw packets.
"""

import glob
import gzip
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import preload
import script_main

_TESTS = '/usr/share/doc/rdma-core/tests'
_RUNNER = os.path.abspath('test/system/rdma_core_runner.py')
_OUTCOMES = 'test/system/rdma_core_outcomes.txt'
# pyverbs is a package of Debian, so it is the system's Python that has it.
_PYTHON = '/usr/bin/python3'
_PATIENCE_SECONDS = 300

# Reasons to skip that are the machine's: all that counts is the skip.
_OF_THE_MACHINE = re.compile(
    r'(: )(Allocating dmabuf is not supported|There are no huge pages).*')


def _expected():
    """The lines of the table by module."""
    modules = {}
    with open(_OUTCOMES, encoding='utf-8') as table:
        for line in table:
            if line.strip() and not line.startswith('#'):
                module = line.split()[1].split('.')[0]
                modules.setdefault(module, set()).add(line.strip())
    return modules


def _unpack(directory):
    """The tests as a package without the __init__ that loads all of them."""
    package = os.path.join(directory, 'tests')
    os.mkdir(package)
    for path in glob.glob(f'{_TESTS}/*.py') + glob.glob(f'{_TESTS}/*.py.gz'):
        opener = gzip.open if path.endswith('.gz') else open
        name = os.path.basename(path).removesuffix('.gz')
        with opener(path, 'rb') as packed:
            with open(os.path.join(package, name), 'wb') as plain:
                shutil.copyfileobj(packed, plain)
    with open(os.path.join(package, '__init__.py'), 'w', encoding='utf-8'):
        pass


class RdmaCoreTest(unittest.TestCase):
    """A case for each module of rdma-core's tests."""

    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.directory.cleanup)
        _unpack(cls.directory.name)

    def check(self, module, expected):
        done = subprocess.run(
            [_PYTHON, _RUNNER, self.directory.name, 'soft0', module],
            env=preload.environment('soft0=loopback:'), stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, check=False,
            timeout=_PATIENCE_SECONDS)
        print(done.stdout)
        outcomes = {_OF_THE_MACHINE.sub(r'\1(the machine)', line)
                    for line in done.stdout.splitlines()}
        self.assertEqual(sorted(outcomes), sorted(expected))
        self.assertEqual(done.returncode, 0)


def _add_cases():
    for module, expected in _expected().items():
        def case(self, module=module, expected=expected):
            self.check(module, expected)
        setattr(RdmaCoreTest, module, case)


_add_cases()

if __name__ == '__main__':
    script_main.main()
