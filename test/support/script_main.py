"""Runs the unittest cases of a script and tells Bazel about each one."""

import os
import sys
import unittest
import xml.etree.ElementTree as ElementTree


class _Result(unittest.TextTestResult):
    """Also keeps (name, state, text) of each case."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.cases = []

    def _keep(self, test, state, text=''):
        self.cases.append((test.id().removeprefix('__main__.'), state, text))

    def addSuccess(self, test):
        super().addSuccess(test)
        self._keep(test, 'passed')

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self._keep(test, 'skipped', reason)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._keep(test, 'failure', self.failures[-1][1])

    def addError(self, test, err):
        super().addError(test, err)
        self._keep(test, 'failure', self.errors[-1][1])

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self._keep(subtest, 'failure', str(err[1]))


def _write_report(path, cases):
    """Writes the cases as the JUnit XML that Bazel and CI read."""
    suite = ElementTree.Element('testsuite', tests=str(len(cases)))
    for name, state, text in cases:
        suite_name, _, case_name = name.partition('.')
        case = ElementTree.SubElement(
            suite, 'testcase', classname=suite_name, name=case_name)
        if state != 'passed':
            ElementTree.SubElement(case, state, message=text)
    ElementTree.ElementTree(suite).write(path)


def main():
    """Runs all cases of __main__ and exits with 0 if none failed."""
    runner = unittest.TextTestRunner(
        stream=sys.stdout, verbosity=2, resultclass=_Result)
    program = unittest.main(testRunner=runner, exit=False)
    report = os.environ.get('XML_OUTPUT_FILE')
    if report:
        _write_report(report, program.result.cases)
    sys.exit(0 if program.result.wasSuccessful() else 1)
