#!/usr/bin/env python3
"""How l2fwd ends when it is told to, and what is left when it is killed."""

import os
import signal
import tempfile
import time
import unittest

import captures
import l2fwd
import netns
import script_main
import table


def _bound_seconds():
    """A second; more where a sanitizer slows everything down."""
    return 20 if l2fwd.is_sanitized() else 1


class SignalsTest(unittest.TestCase):

    def assert_ends_on(self, number):
        with l2fwd.started('--stats=100ms', 'null:', 'null:') as run:
            l2fwd.wait_until(lambda: run.output().count('\n') > 3, 'rates')
            told = time.monotonic()
            run.signal(number)
            ended = run.wait()
            took = time.monotonic() - told
        self.assertEqual((ended.status, ended.stderr), (0, ''), ended)
        self.assertLess(took, _bound_seconds())
        self.assertIn('transmit', ended.stdout)
        self.assertGreater(table.sent(ended.table), 0)
        self.assertEqual(table.unbalanced(ended.table), [])

    def test_sigint_ends_it_with_the_table(self):
        self.assert_ends_on(signal.SIGINT)

    def test_sigterm_ends_it_with_the_table(self):
        self.assert_ends_on(signal.SIGTERM)

    def test_sighup_ends_it_with_the_table(self):
        self.assert_ends_on(signal.SIGHUP)

    def test_sighup_that_is_ignored_does_not_end_it(self):
        """As nohup has it."""
        with l2fwd.started(
                '--stats=100ms', 'null:', 'null:',
                preexec=lambda: signal.signal(signal.SIGHUP,
                                              signal.SIG_IGN)) as run:
            l2fwd.wait_until(lambda: run.output().count('\n') > 3, 'rates')
            run.signal(signal.SIGHUP)
            before = run.output().count('\n')
            l2fwd.wait_until(lambda: run.output().count('\n') > before + 1,
                             'rates after the signal')
            self.assertEqual(run.stop().status, 0)

    def test_prints_no_rates_of_the_time_it_was_stopped(self):
        with l2fwd.started('--stats=100ms', 'null:', 'null:') as run:
            l2fwd.wait_until(lambda: run.output().count('\n') > 8, 'rates')
            run.signal(signal.SIGSTOP)
            # The time of twenty lines has to pass.
            time.sleep(2)
            before = run.output().count('\n')
            run.signal(signal.SIGCONT)
            l2fwd.wait_until(lambda: run.output().count('\n') > before,
                             'rates after the stop')
            ended = run.stop()
        rates = ended.stdout.split('\n---')[0].count('\n') - before
        self.assertLess(rates, 20, ended.stdout)

    def test_sigterm_ends_a_start_that_waits(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        fifo = os.path.join(folder.name, 'fifo')
        os.mkfifo(fifo)
        for ports in [(f'pcap:{fifo}', 'null:'), ('null:', f'pcap:,out={fifo}')]:
            with self.subTest(ports=ports):
                with l2fwd.started(*ports) as run:
                    # Made right before the ports are opened; unless it comes
                    # too early, the signal meets the wait for the other end.
                    l2fwd.wait_until(run.has_table, 'the file of --json')
                    ended = run.stop()
                self.assertEqual(ended.status, -signal.SIGTERM, ended)

    def test_duration_ends_it_with_the_table(self):
        ended = l2fwd.outcome('--duration=200ms', 'null:', 'null:')
        self.assertEqual((ended.status, ended.stderr), (0, ''), ended)
        self.assertGreater(table.sent(ended.table), 0)

    def test_demo_needs_no_ports(self):
        ended = l2fwd.outcome('--demo', '--duration=200ms')
        self.assertEqual((ended.status, ended.stderr), (0, ''), ended)
        self.assertGreater(table.sent(ended.table), 0)

    def test_demo_leaves_ports_that_are_named(self):
        ended = l2fwd.outcome('--demo', 'null:')
        self.assertEqual(ended.status, 1, ended)
        self.assertIn('got 1', ended.stderr)

    def test_starts_again_after_sigkill(self):
        netns.require()
        netns.run('ip', 'link', 'add', 'one', 'type', 'veth', 'peer', 'name',
                  'two')
        for netdev in ('one', 'two'):
            netns.run('ip', 'link', 'set', netdev, 'up')
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        output = os.path.join(folder.name, 'out.pcap')
        capture = os.path.join(folder.name, 'in.pcap')
        captures.write_pcap(capture, captures.many(10))
        wire = f'wire:{os.getpid()}-joint'
        for ports in [('packet:one', 'packet:two'),
                      (f'{wire},end=a', f'{wire},end=b'),
                      (f'pcap:{capture},loop=on', f'pcap:,out={output}')]:
            with self.subTest(ports=ports):
                for _ in range(3):
                    with l2fwd.started('--stats=100ms', *ports) as run:
                        run.wait_for_output('\n')
                        run.signal(signal.SIGKILL)
                        self.assertEqual(run.wait().status, -signal.SIGKILL)
                with l2fwd.started('--stats=100ms', *ports) as run:
                    run.wait_for_output('\n')
                    ended = run.stop()
                self.assertEqual((ended.status, ended.stderr), (0, ''), ended)


if __name__ == '__main__':
    netns.enter()
    script_main.main()
