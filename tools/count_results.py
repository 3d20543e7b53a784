#!/usr/bin/env python3
"""Counts the test cases of Bazel runs.

    tools/count_results.py EVENTS...

Each argument is a file that `bazel test --build_event_json_file` wrote. Prints
"PASSED FAILED SKIPPED" for all of them together, and to stderr one line for
each case that failed or was skipped. A test whose report names no cases counts
as one; one that did not build, ran out of time or crashed counts as failed.
"""

import json
import sys
import urllib.parse
import xml.etree.ElementTree


class Counts:
    """Passed, failed and skipped cases."""

    def __init__(self):
        self.passed = 0
        self.failed = 0
        self.skipped = 0

    def add_report(self, label, succeeded, report):
        """Adds a test run whose test.xml is at `report` (None: it has none)."""
        failed_before = self.failed
        cases = _cases(report)
        for name, state in cases:
            if state == 'passed':
                self.passed += 1
            elif state == 'skipped':
                self.skipped += 1
                print(f'SKIPPED {label} {name}', file=sys.stderr)
            else:
                self.add_failure(f'{label} {name}')
        if succeeded and not cases:
            self.passed += 1
        if not succeeded and self.failed == failed_before:
            self.add_failure(label)

    def add_failure(self, what):
        self.failed += 1
        print(f'FAILED {what}', file=sys.stderr)


def _state(case):
    """What became of a <testcase>."""
    if case.find('failure') is not None or case.find('error') is not None:
        return 'failed'
    # GoogleTest: run, notrun (disabled) or result="skipped".
    if (case.find('skipped') is not None or case.get('status') == 'notrun' or
            case.get('result') in ('skipped', 'suppressed')):
        return 'skipped'
    return 'passed'


def _cases(report):
    """(name, state) of each case in a test.xml; empty if it cannot be read."""
    try:
        root = xml.etree.ElementTree.parse(report).getroot()
    except (OSError, TypeError, xml.etree.ElementTree.ParseError):
        return []
    return [(f"{case.get('classname', '')}.{case.get('name')}", _state(case))
            for case in root.iter('testcase')]


def count(path, counts):
    """Adds the run whose events are in the file at `path`."""
    reported = set()
    exit_code = None
    failures_before = counts.failed
    with open(path, encoding='utf-8') as file:
        events = [json.loads(line) for line in file if line.strip()]
    for event in events:
        identity = event['id']
        if 'testResult' in event:
            label = identity['testResult']['label']
            reported.add(label)
            result = event['testResult']
            outputs = {output['name']: output.get('uri', '')
                       for output in result.get('testActionOutput', [])}
            report = urllib.parse.urlparse(outputs.get('test.xml', '')).path
            counts.add_report(label, result.get('status') == 'PASSED',
                              urllib.parse.unquote(report) or None)
        elif 'buildFinished' in identity and 'finished' in event:
            exit_code = event['finished'].get('exitCode', {}).get('code', 0)
    for event in events:
        completed = event['id'].get('targetCompleted')
        if completed and completed['label'] not in reported and (
                not event.get('completed', {}).get('success')):
            counts.add_failure(f"{completed['label']} does not build")
            reported.add(completed['label'])
    if exit_code != 0 and counts.failed == failures_before:
        counts.add_failure(f'{path}: Bazel ended with {exit_code}')


def main():
    counts = Counts()
    for path in sys.argv[1:]:
        try:
            count(path, counts)
        except (OSError, ValueError, KeyError) as error:
            counts.add_failure(f'{path}: cannot be read: {error}')
    print(counts.passed, counts.failed, counts.skipped)


if __name__ == '__main__':
    main()
