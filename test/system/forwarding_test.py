#!/usr/bin/env python3
"""The software HCA on top of libraries that stand in for libibverbs.

Each case is a run of //test/hca/standin:forwarding_test, which has the checks.
"""

import os
import subprocess
import unittest

import preload
import script_main

_DIRECTORY = os.path.abspath('test/hca/standin')


class ForwardingTest(unittest.TestCase):

    def run_on(self, library, program, tests, environment):
        """Runs `tests` with `library` in place of the machine's libibverbs."""
        environment = dict(environment,
                           WEIR_HCA_DEVICES='soft0=null:',
                           LD_LIBRARY_PATH=f'{_DIRECTORY}/{library}')
        # Bazel's report is of the cases here.
        environment.pop('XML_OUTPUT_FILE', None)
        done = subprocess.run(
            [f'{_DIRECTORY}/{program}', f'--gtest_filter={tests}'],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertNotIn('0 tests from', done.stdout)

    def test_stands_in_front_of_a_real_library(self):
        self.run_on('full', 'forwarding_preloaded',
                    'ForwardingTest.*:PreloadedTest.*', preload.environment())

    def test_is_inside_a_program_over_a_real_library(self):
        self.run_on('full', 'forwarding_linked', 'ForwardingTest.*', os.environ)

    def test_lives_with_a_library_that_lacks_functions(self):
        self.run_on('old', 'forwarding_linked', 'OldLibraryTest.*', os.environ)

    def test_does_without_a_library(self):
        self.run_on('broken', 'forwarding_linked', 'NoLibraryTest.*',
                    os.environ)


if __name__ == '__main__':
    script_main.main()
