"""Runs modules of rdma-core's own tests on one device, apart from Bazel.

Called as `rdma_core_runner.py DIRECTORY DEVICE MODULE...`, where DIRECTORY has
the package `tests`. Prints a line a test case: outcome, name and why.
"""

import importlib
import os
import random
import sys
import traceback
import unittest


class _Printer(unittest.TestResult):

    def startTest(self, test):
        super().startTest(test)
        # Many choose attributes at random.
        random.seed(test.id())

    def _print(self, outcome, test, why=''):
        name = test.id().removeprefix('tests.')
        reason = ' '.join(str(why).split())
        print(f'{outcome} {name}' + (f': {reason}' if reason else ''),
              flush=True)

    def addSuccess(self, test):
        self._print('passed', test)

    def addSkip(self, test, reason):
        self._print('skipped', test, reason)

    def addFailure(self, test, err):
        self._print('failed', test, ''.join(traceback.format_exception(*err)))

    addError = addFailure


def _main(directory, device, *modules):
    sys.path[:0] = [directory, os.path.join(directory, 'tests')]
    parser = importlib.import_module('args_parser').parser
    parser.args = {'dev': device, 'pci_dev': None, 'port': 1, 'gid': None,
                   'gpu': 0, 'gtt': False, 'verbosity': None}
    for name in modules:
        module = importlib.import_module(f'tests.{name}')
        unittest.defaultTestLoader.loadTestsFromModule(module).run(_Printer())


if __name__ == '__main__':
    _main(*sys.argv[1:])
