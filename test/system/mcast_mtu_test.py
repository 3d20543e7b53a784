#!/usr/bin/env python3
"""mcast at ports with MTUs that few links have: what can be sent is, and what
cannot be is said."""

import json
import os
import tempfile
import unittest

import mcast
import script_main

_IP = ['--ip=192.0.2.1', '--group=239.1.2.3', '--udp_port=5000']
_IP6 = ['--ip=fe80::1', '--group=ff02::77', '--udp_port=5000']


def _frames(payload_bytes, mtu):
    """Fragments of a datagram (RFC 791 section 3.2), or 1."""
    if payload_bytes + 28 <= mtu:
        return 1
    each = (mtu - 20) // 8 * 8
    return -(-(payload_bytes + 8) // each)


class SendTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.json = os.path.join(folder.name, 'report.json')

    def send(self, *arguments):
        """What is said, and what became of packets, of a run that ends well."""
        done = mcast.run('send', *arguments, f'--json={self.json}')
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.json) as file:
            report = json.load(file)
        mcast.assert_conserved(report)
        return done.stderr, report['packets']

    def test_long_datagrams_over_every_mtu(self):
        for mtu in [1500, 9000, 12000, 14000, 20001, 30000, 45000, 65535]:
            for size in [30000, 60000, 62000, 63400, 65507]:
                said, packets = self.send(f'null:,mtu={mtu}', *_IP, '--count=10',
                                          '--rate=0', f'--size={size}')
                self.assertEqual(said, '', (mtu, size))
                self.assertEqual((packets['sent'], packets['dropped']),
                                 (10 * _frames(size, mtu), 0), (mtu, size))

    def test_what_no_stage_lets_pass_is_said(self):
        for count, said in [(1, '1 packet was'), (3, '3 packets were')]:
            self.assertEqual(
                self.send('null:,mtu=68', *_IP6, f'--count={count}')[0],
                f'mcast: {said} not sent: IPv6 over an MTU below 1280 {count}'
                '\n')


if __name__ == '__main__':
    script_main.main()
