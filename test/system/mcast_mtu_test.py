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


class GroupsTest(unittest.TestCase):

    def test_a_port_too_small_for_reports_is_named(self):
        for flags, says in [
                (_IP, 'igmp-host: reports of groups with 64 sources need an MTU '
                 'of 296 bytes'),
                (_IP6, 'mld-host: reports of groups with 64 sources need an MTU '
                 'of 1100 bytes'),
                # Of no other family than that of the group.
                (['--ip=192.0.2.1,fe80::1', *_IP6[1:]], 'mld-host: ')]:
            done = mcast.run('recv', 'null:,mtu=68', *flags, '--duration=1s')
            self.assertEqual(done.returncode, 1)
            self.assertIn(f'mcast: null:,mtu=68: {says}', done.stderr)
            self.assertIn(', this one is 68; raise the MTU\n', done.stderr)

    def test_a_family_without_groups_needs_no_mtu(self):
        for mtu, addresses in [(296, '192.0.2.1'), (296, '192.0.2.1,fe80::1')]:
            done = mcast.run('recv', f'null:,mtu={mtu}', *_IP,
                             f'--ip={addresses}', '--duration=10ms')
            self.assertEqual((done.returncode, done.stderr), (0, ''))

    def test_the_ports_of_a_relay(self):
        for ports, says in [
                (['null:,mtu=68', 'loopback:'], 'null:,mtu=68: mld-host: '),
                (['null:', 'loopback:,mtu=68'],
                 'loopback:,mtu=68: mld-router: ')]:
            done = mcast.run('relay', *ports, '--ip_in=fe80::2',
                             '--ip_out=fe80::1', '--duration=1s')
            self.assertEqual(done.returncode, 1)
            self.assertIn(f'mcast: {says}', done.stderr)
            self.assertIn('raise the MTU\n', done.stderr)


if __name__ == '__main__':
    script_main.main()
