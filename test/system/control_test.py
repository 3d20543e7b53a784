#!/usr/bin/env python3
"""control beside l2fwd that runs: what it changes, and that nothing stops for
it, whoever asks what."""

import glob
import json
import os
import random
import signal
import socket
import stat
import subprocess
import tempfile
import threading
import unittest

import l2fwd
import script_main

CONTROL = os.path.abspath('apps/control/control')
TOP = os.path.abspath('apps/top/top')


def control(*arguments):
    return subprocess.run([CONTROL, *map(str, arguments)], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          check=False, timeout=l2fwd.PATIENCE_SECONDS)


def socket_of(pid):
    return glob.glob(f'/dev/shm/weir.{pid}.*.control')


def polls_of(pid):
    """Rounds of each lcore so far."""
    shown = subprocess.run([TOP, '--json', str(pid)], text=True, check=True,
                           stdout=subprocess.PIPE)
    metrics = json.loads(shown.stdout)['processes'][0]['metrics']
    return {metric['labels']['lcore']: metric['value'] for metric in metrics
            if metric['name'] == 'weir_lcore_polls'}


class Connection:
    """To the control socket of a process."""

    def __init__(self, pid):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(l2fwd.PATIENCE_SECONDS)
        self.socket.connect(socket_of(pid)[0])
        self._lines = self.socket.makefile('rb')

    def ask(self, **request):
        self.socket.sendall(json.dumps(request).encode() + b'\n')
        return json.loads(self._lines.readline())

    def close(self):
        self._lines.close()
        self.socket.close()


class ControlTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.run_ = l2fwd.Run(['null:', 'null:', '--stats=0'], folder.name)
        self.addCleanup(self.run_.close)
        l2fwd.wait_until(lambda: socket_of(self.run_.pid), 'the socket')
        # The first counters come a moment later.
        l2fwd.wait_until(lambda: control(self.run_.pid, 'stats').returncode == 0
                         and polls_of(self.run_.pid), 'counters')

    def expect_all_poll(self):
        """Every lcore goes on."""
        before = polls_of(self.run_.pid)
        self.assertTrue(before)
        l2fwd.wait_until(
            lambda: all(now > before[lcore]
                        for lcore, now in polls_of(self.run_.pid).items()),
            'more polls')

    def test_changes_the_rate_of_rates(self):
        said = control(self.run_.pid, 'stats', '20ms')
        self.assertEqual((said.returncode, said.stdout),
                         (0, 'interval: 20ms\n'), said.stderr)
        self.run_.wait_for_output('rx packets/s')
        l2fwd.wait_until(lambda: self.run_.output().count('null:') > 20,
                         'rates')
        self.expect_all_poll()
        self.assertEqual(control(self.run_.pid, 'stats', 'off').stdout,
                         'interval: off\n')
        lines = self.run_.output().count('\n')
        self.expect_all_poll()
        self.assertEqual(self.run_.output().count('\n'), lines)

    def test_lists_ports(self):
        said = control('--json', self.run_.pid, 'port', 'list')
        self.assertEqual(said.returncode, 0, said.stderr)
        ports = json.loads(said.stdout)['ports']
        self.assertEqual([port['name'] for port in ports], ['null:', 'null:'])
        self.assertGreater(ports[0]['rx_packets'], 0)

    def test_finds_the_process_by_name(self):
        named = control('l2fwd', 'stats')
        # Others may run beside this test.
        self.assertTrue(named.returncode == 0 or
                        'say which by pid' in named.stderr, named.stderr)

    def test_stops_the_run(self):
        self.assertEqual(control(self.run_.pid, 'stop').returncode, 0)
        ended = self.run_.wait()
        self.assertEqual(ended.status, 0, ended.stderr)
        self.assertTrue(ended.table['packets']['conserved'])
        self.assertEqual(socket_of(self.run_.pid), [])

    def test_says_in_one_line_what_is_wrong(self):
        for arguments, error in [
                ((self.run_.pid, 'stats', 'soon'), 'got soon'),
                ((self.run_.pid, 'dance'), 'no such command: dance; there are'),
                (('no-such-app', 'stats'), 'is called no-such-app'),
                ((self.run_.pid,), 'want a pid or the name of a program')]:
            with self.subTest(arguments):
                said = control(*arguments)
                self.assertEqual((said.returncode, said.stdout), (1, ''))
                self.assertIn(error, said.stderr)
                self.assertEqual(said.stderr.count('\n'), 1)

    def test_is_for_its_user_alone(self):
        path = socket_of(self.run_.pid)[0]
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)

    def test_leaves_no_socket_behind_a_killed_process(self):
        path = socket_of(self.run_.pid)[0]
        self.run_.signal(signal.SIGKILL)
        self.run_.wait()
        self.assertEqual(l2fwd.outcome('null:', 'null:', '--duration=10ms',
                                       '--stats=0').status, 0)
        self.assertFalse(os.path.exists(path))

    def attack(self, number):
        """One of many who ask for nothing good."""
        random_ = random.Random(number)
        try:
            with socket.socket(socket.AF_UNIX) as attacker:
                attacker.settimeout(5)
                attacker.connect(socket_of(self.run_.pid)[0])
                kind = number % 5
                if kind == 0:
                    attacker.sendall(random_.randbytes(2000))
                elif kind == 1:
                    attacker.sendall(b'x' * (1 << 20))
                elif kind == 2:
                    attacker.sendall(b'{"command":"port')
                elif kind == 3:
                    # Asks for much and reads nothing.
                    attacker.sendall(b'{"command":"port list"}\n' * 500)
                else:
                    attacker.sendall(b'{"command":"port list"}\n')
                    attacker.recv(10)
                if number % 2:
                    attacker.recv(100)
        except OSError:
            # Sent away.
            pass

    def test_stands_a_hundred_clients_that_mean_no_good(self):
        friend = Connection(self.run_.pid)
        self.addCleanup(friend.close)
        attackers = [threading.Thread(target=self.attack, args=(number,))
                     for number in range(100)]
        for attacker in attackers:
            attacker.start()
        self.expect_all_poll()
        for attacker in attackers:
            attacker.join()
        self.expect_all_poll()
        fresh = Connection(self.run_.pid)
        self.addCleanup(fresh.close)
        self.assertEqual(fresh.ask(command='stats'),
                         {'ok': True, 'interval': 'off'})
        ended = self.run_.stop()
        self.assertEqual(ended.status, 0, ended.stderr)
        self.assertTrue(ended.table['packets']['conserved'])

    def test_answers_others_while_one_sends_half_a_line(self):
        silent = Connection(self.run_.pid)
        self.addCleanup(silent.close)
        silent.socket.sendall(b'{"command":')
        other = Connection(self.run_.pid)
        self.addCleanup(other.close)
        self.assertTrue(other.ask(command='stats')['ok'])
        silent.socket.sendall(b'"stats"}\n')
        self.assertEqual(silent.socket.recv(100),
                         b'{"ok":true,"interval":"off"}\n')


if __name__ == '__main__':
    script_main.main()
