#!/usr/bin/env python3
"""How mcast ends when it is told to, whatever it waits for meanwhile."""

import glob
import json
import os
import signal
import subprocess
import tempfile
import unittest

import groups
import mcast
import script_main

_SENT = [f'--group={mcast.GROUP}', f'--udp_port={mcast.PORT}',
         f'--ip={mcast.IP}']


class StopTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.json = os.path.join(folder.name, 'table.json')
        self.fifo = os.path.join(folder.name, 'fifo')

    def running(self, *arguments):
        """One that has opened itself to others, the last thing it does before
        it waits."""
        process = subprocess.Popen(
            [mcast.PROGRAM, *arguments, f'--json={self.json}'],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        groups.wait_until(lambda: glob.glob(
            f'/dev/shm/weir.{process.pid}.*.control'), 'the control socket')
        return process

    def assert_ends(self, process, number):
        """With a table, a report, and nothing left for others."""
        process.send_signal(number)
        code = process.wait(groups.PATIENCE_SECONDS)
        output, errors = process.communicate()
        self.assertEqual((code, errors), (0, ''))
        self.assertIn('packets: ', output)
        with open(self.json) as file:
            report = json.load(file)
        mcast.assert_conserved(report)
        self.assertEqual(glob.glob(f'/dev/shm/weir.{process.pid}.*'), [])
        return report

    def test_a_sender_whose_standard_input_is_silent(self):
        for number in [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]:
            with self.subTest(number):
                sender = self.running('send', 'null:', *_SENT, '--stdin')
                self.assert_ends(sender, number)

    def test_a_receiver_whose_fifo_nobody_opens(self):
        os.mkfifo(self.fifo)
        for to in [f'file:{self.fifo}', f'pcap:{self.fifo}']:
            with self.subTest(to):
                receiver = self.running('recv', 'null:', *_SENT, f'--to={to}')
                self.assert_ends(receiver, signal.SIGTERM)
                done = mcast.run('recv', 'null:', *_SENT, f'--to={to}',
                                 '--duration=100ms')
                self.assertEqual((done.returncode, done.stderr), (0, ''))


if __name__ == '__main__':
    script_main.main()
