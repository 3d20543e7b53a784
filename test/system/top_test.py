#!/usr/bin/env python3
"""top beside programs that run: what it prints, once, for programs, and on a
terminal."""

import fcntl
import glob
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import tempfile
import termios
import time
import unittest

from prometheus_client.openmetrics import parser

import l2fwd
import script_main

TOP = os.path.abspath('apps/top/top')


def top(*arguments):
    return subprocess.run([TOP, *arguments], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False,
                          timeout=l2fwd.PATIENCE_SECONDS)


class TopTest(unittest.TestCase):

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def start(self):
        """l2fwd between two null ports, once it shows its counters."""
        folder = tempfile.mkdtemp(dir=self.folder.name)
        run = l2fwd.Run(['null:', 'null:', '--stats=0'], folder)
        self.addCleanup(run.close)
        l2fwd.wait_until(lambda: top('--json', str(run.pid)).returncode == 0
                         and self.metrics(run), 'counters')
        return run

    def metrics(self, run):
        """What top says of it, as name and labels -> value."""
        ended = top('--json', str(run.pid))
        self.assertEqual(ended.returncode, 0, ended.stderr)
        process, = json.loads(ended.stdout)['processes']
        self.assertEqual(process['pid'], run.pid)
        self.assertEqual(process['app'], 'l2fwd')
        return {(metric['name'], *metric['labels'].values()): metric['value']
                for metric in process['metrics']}

    def test_counts_what_a_program_counts(self):
        run = self.start()
        before = self.metrics(run)
        l2fwd.wait_until(
            lambda: self.metrics(run)[('weir_lcore_packets', self.lcore(before))]
            > before[('weir_lcore_packets', self.lcore(before))], 'more packets')
        now = self.metrics(run)
        self.assertEqual(before.keys(), now.keys())
        for key, value in before.items():
            if key[0].endswith(('_packets', '_polls')) and 'held' not in key[0] \
                    and 'waiting' not in key[0]:
                self.assertLessEqual(value, now[key], key)

    @staticmethod
    def lcore(metrics):
        return next(key[1] for key in metrics if key[0] == 'weir_lcore_polls')

    def test_adds_up_the_mbufs(self):
        mbufs = {key[1]: value for key, value in
                 self.metrics(self.start()).items() if key[0] == 'weir_mbufs'}
        self.assertEqual(set(mbufs), {'free', 'posted', 'sending', 'rings',
                                      'pipelines'})
        self.assertGreater(sum(mbufs.values()), 2048)

    def test_shows_several_processes_at_once(self):
        one, two = self.start(), self.start()
        ended = top('--once', '--interval=200ms', str(one.pid), str(two.pid))
        self.assertEqual(ended.returncode, 0, ended.stderr)
        for run in (one, two):
            self.assertIn(f'l2fwd ({run.pid}), ', ended.stdout)
        self.assertRegex(ended.stdout, r'receive +\d[\d.]*[kM]?/s')
        self.assertIn('null: -> null:', ended.stdout)
        by_name = json.loads(top('--json', 'l2fwd').stdout)['processes']
        self.assertLessEqual({one.pid, two.pid},
                             {process['pid'] for process in by_name})

    def test_prints_open_metrics(self):
        run = self.start()
        l2fwd.wait_until(
            lambda: all(value for key, value in self.metrics(run).items()
                        if key[0] == 'weir_lcore_packets'),
            'packets on each lcore')
        ended = top('--openmetrics', str(run.pid))
        self.assertEqual(ended.returncode, 0, ended.stderr)
        families = {family.name: family for family in
                    parser.text_string_to_metric_families(ended.stdout)}
        packets = families['weir_lcore_packets']
        self.assertEqual(packets.type, 'counter')
        for sample in packets.samples:
            self.assertEqual(sample.labels['pid'], str(run.pid))
            self.assertGreater(sample.value, 0)
        self.assertEqual(families['weir_mbufs'].type, 'gauge')

    def test_forgets_a_process_that_was_killed(self):
        run = self.start()
        run.signal(signal.SIGKILL)
        run.wait()
        self.assertEqual(top('--once', str(run.pid)).returncode, 1)
        # The next one to start clears up.
        self.start()
        self.assertEqual(glob.glob(f'/dev/shm/weir.{run.pid}.*'), [])

    def test_leaves_no_file_of_a_process_that_ended(self):
        run = self.start()
        run.stop()
        self.assertEqual(run.wait().status, 0)
        self.assertEqual(glob.glob(f'/dev/shm/weir.{run.pid}.*'), [])

    def test_names_what_there_is_when_asked_for_what_is_not(self):
        run = self.start()
        ended = top('nobody')
        self.assertEqual(ended.returncode, 1)
        self.assertIn('no process of weir is called nobody; there are ',
                      ended.stderr)
        self.assertIn(f'l2fwd ({run.pid})', ended.stderr)

    def test_refuses_what_it_cannot_do(self):
        run = self.start()
        for arguments, words in [
                (['--interval=1ms'], 'want 100ms to 1h, got 1ms'),
                (['--interval=x'], '--interval: '),
                (['--json', '--openmetrics'], 'not both'),
                ([], 'standard output is no terminal: use --once')]:
            ended = top(*arguments, str(run.pid))
            self.assertEqual(ended.returncode, 1, arguments)
            self.assertRegex(ended.stderr, r'\Atop: [^\n]+\n\Z')
            self.assertIn(words, ended.stderr)

    def read_until(self, terminal, pattern, seen=''):
        """What the terminal shows until `pattern` is in it."""
        deadline = time.monotonic() + l2fwd.PATIENCE_SECONDS
        while not re.search(pattern, seen):
            self.assertLess(time.monotonic(), deadline, seen[-2000:])
            if select.select([terminal], [], [], 0.1)[0]:
                seen += os.read(terminal, 65536).decode('utf-8', 'replace')
        return seen

    def watch(self, *runs):
        """top on a terminal, and the other end of that."""
        child, terminal = pty.fork()
        if child == 0:
            os.environ['TERM'] = 'xterm'
            os.execv(TOP, [TOP, '--interval=100ms',
                           *(str(run.pid) for run in runs)])
        self.addCleanup(os.close, terminal)
        fcntl.ioctl(terminal, termios.TIOCSWINSZ,
                    struct.pack('HHHH', 100, 100, 0, 0))
        return child, terminal

    def test_goes_on_with_those_that_are_left(self):
        one, two = self.start(), self.start()
        child, terminal = self.watch(one, two)
        seen = self.read_until(terminal, rf'l2fwd \({one.pid}\)')
        self.read_until(terminal, rf'l2fwd \({two.pid}\)', seen)
        one.signal(signal.SIGKILL)
        seen = self.read_until(terminal, f'is called {one.pid}; there are ')
        # Drawn anew as the first on the screen.
        self.read_until(terminal, r'\d[kM]', seen[seen.index('is called'):])
        os.write(terminal, b'q')
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)

    def test_does_not_wait_for_keys_that_cannot_come(self):
        run = self.start()
        terminal, screen = pty.openpty()
        self.addCleanup(os.close, terminal)
        self.addCleanup(os.close, screen)
        ended = subprocess.run([TOP, str(run.pid)], stdin=subprocess.DEVNULL,
                               stdout=screen, stderr=subprocess.PIPE, text=True,
                               env=dict(os.environ, TERM='xterm'), check=False,
                               timeout=l2fwd.PATIENCE_SECONDS)
        self.assertEqual(ended.returncode, 1)
        self.assertIn('standard input is no terminal: use --once', ended.stderr)

    def test_shows_a_terminal_what_goes_on(self):
        run = self.start()
        child, terminal = self.watch(run)
        seen = self.read_until(terminal, rf'l2fwd \({run.pid}\)')
        # Of a rate that changes only the digits that differ are drawn again.
        self.read_until(terminal, r'\d[kM]', seen)
        run.signal(signal.SIGKILL)
        self.read_until(terminal, 'no process of weir')
        os.write(terminal, b'q')
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)


if __name__ == '__main__':
    script_main.main()
