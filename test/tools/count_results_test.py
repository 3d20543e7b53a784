#!/usr/bin/env python3
"""count_results.py counts cases, not targets, and misses no failure."""

import contextlib
import io
import json
import os
import tempfile
import unittest

import count_results
import script_main

_FINISHED = {'id': {'buildFinished': {}},
             'finished': {'exitCode': {'name': 'SUCCESS'}}}
_BROKEN = {'id': {'buildFinished': {}}, 'finished': {'exitCode': {'code': 3}}}


class CountResultsTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def _result(self, status, report=None):
        """The event of a test whose test.xml has the text `report`."""
        outputs = []
        if report is not None:
            path = os.path.join(self.folder, 'test report.xml')
            with open(path, 'w', encoding='utf-8') as file:
                file.write(report)
            uri = 'file://' + path.replace(' ', '%20')
            outputs = [{'name': 'test.xml', 'uri': uri}]
        return {'id': {'testResult': {'label': '//a:b'}},
                'testResult': {'status': status, 'testActionOutput': outputs}}

    def _count(self, *events):
        path = os.path.join(self.folder, 'events')
        with open(path, 'w', encoding='utf-8') as file:
            file.writelines(json.dumps(event) + '\n' for event in events)
        counts = count_results.Counts()
        with contextlib.redirect_stderr(io.StringIO()):
            count_results.count(path, counts)
        return counts.passed, counts.failed, counts.skipped

    def test_counts_the_cases_of_googletest(self):
        report = '''<testsuites><testsuite name="A">
            <testcase name="x" classname="A" status="run" result="completed"/>
            <testcase name="y" classname="A" status="run" result="skipped"/>
            <testcase name="z" classname="A" status="notrun"/>
            <testcase name="w" classname="A"><failure message="no"/></testcase>
            </testsuite></testsuites>'''
        self.assertEqual(
            self._count(self._result('FAILED', report), _BROKEN), (1, 1, 2))

    def test_counts_a_test_without_a_report_as_one(self):
        self.assertEqual(self._count(self._result('PASSED'), _FINISHED),
                         (1, 0, 0))

    def test_counts_a_crash_although_its_cases_passed(self):
        report = '<testsuite><testcase name="x"/></testsuite>'
        self.assertEqual(
            self._count(self._result('TIMEOUT', report), _BROKEN), (1, 1, 0))

    def test_counts_what_does_not_build(self):
        event = {'id': {'targetCompleted': {'label': '//a:b'}},
                 'completed': {'success': False}}
        self.assertEqual(self._count(event, _BROKEN), (0, 1, 0))

    def test_counts_a_run_that_failed_otherwise(self):
        self.assertEqual(self._count(_BROKEN), (0, 1, 0))

    def test_counts_a_run_that_was_cut_short(self):
        self.assertEqual(self._count(self._result('PASSED')), (1, 1, 0))


if __name__ == '__main__':
    script_main.main()
