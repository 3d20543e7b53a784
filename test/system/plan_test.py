#!/usr/bin/env python3
"""Which pipeline runs on which lcore, as l2fwd --plan says before it does."""

import os
import unittest

import l2fwd
import script_main


def plan(*arguments, machine=None):
    """What --plan says of this machine, or of one described to hwloc."""
    environment = dict(os.environ)
    if machine is not None:
        environment['HWLOC_SYNTHETIC'] = machine
    old = dict(os.environ)
    os.environ.update(environment)
    try:
        return l2fwd.outcome(*arguments, '--plan')
    finally:
        os.environ.clear()
        os.environ.update(old)


class PlanTest(unittest.TestCase):

    def assert_planned(self, ended):
        self.assertEqual(ended.status, 0, ended)
        self.assertEqual(ended.stderr, '')

    def test_runs_nothing(self):
        ended = plan('null:', 'null:')
        self.assert_planned(ended)
        self.assertNotIn('packets', ended.stdout)
        self.assertEqual([port['name'] for port in ended.table['ports']],
                         ['null:', 'null:'])

    def test_says_the_same_in_words(self):
        ended = plan('null:', 'null:')
        for lcore in ended.table['lcores']:
            self.assertIn(f'lcore {lcore["lcore"]} (core {lcore["core"]}',
                          ended.stdout)
        self.assertIn('null: -> null:', ended.stdout)

    def test_uses_every_core_before_a_second_thread(self):
        # PUs 0 and 1 are of core 0; the control thread has PU 0.
        ended = plan('null:', 'null:', machine='node:1 l3:1 core:3 pu:2')
        self.assert_planned(ended)
        self.assertEqual([(lcore['lcore'], lcore['core'])
                          for lcore in ended.table['lcores']],
                         [(1, 0), (2, 1)])
        self.assertEqual(ended.table['control_lcores'], [0, 3, 4, 5])

    def test_stays_in_one_cache(self):
        # Two caches of two cores: of the first, one core is left after the
        # control thread, and it has a second thread.
        ended = plan('null:', 'null:', machine='node:1 l3:2 core:3 pu:1')
        self.assertEqual([lcore['l3'] for lcore in ended.table['lcores']],
                         [0, 0])

    def test_follows_the_list_of_the_user(self):
        ended = plan('null:', 'null:', '--lcores=5,3',
                     machine='node:2 l3:1 core:3 pu:1')
        self.assertEqual([lcore['lcore'] for lcore in ended.table['lcores']],
                         [5, 3])
        self.assertEqual([lcore['numa_node']
                          for lcore in ended.table['lcores']], [1, 1])

    def test_warns_of_pipelines_that_take_turns(self):
        ended = plan('null:', 'null:', machine='node:1 core:1 pu:1')
        self.assertEqual(ended.status, 0, ended)
        self.assertIn('2 pipelines take turns on 1 of 1 lcores', ended.stderr)
        self.assertEqual(len(ended.table['warnings']), 1)

    def test_refuses_lcores_that_the_machine_does_not_have(self):
        ended = plan('null:', 'null:', '--lcores=6',
                     machine='node:2 l3:1 core:3 pu:1')
        self.assertEqual(ended.status, 1)
        self.assertIn('there is no lcore 6; usable here: 0,1,2,3,4,5',
                      ended.stderr)


if __name__ == '__main__':
    script_main.main()
