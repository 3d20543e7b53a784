#!/usr/bin/env python3
"""Two kernels' network stacks talk through l2fwd on AF_PACKET ports.

    left (10.7.0.1) ==veth== l2fwd packet:… packet:… ==veth== right (10.7.0.2)
"""

import json
import subprocess
import unittest

import l2fwd
import netns
import script_main
import table
import vlan_relay

_LEFT, _RIGHT = '10.7.0.1', '10.7.0.2'
_LEFT6, _RIGHT6 = 'fd07::1', 'fd07::2'


class KernelPeerTest(unittest.TestCase):

    def setUp(self):
        netns.require()

    def join(self, mtu=1500):
        """Two namespaces with a running l2fwd between them."""
        self.left, self.right = netns.Namespace(), netns.Namespace()
        self.addCleanup(self.left.close)
        self.addCleanup(self.right.close)
        for namespace, outside, addresses in [
                (self.left, 'toleft', (_LEFT + '/24', _LEFT6 + '/64')),
                (self.right, 'toright', (_RIGHT + '/24', _RIGHT6 + '/64'))]:
            netns.link('veth0', outside, namespace, mtu)
            self.addCleanup(netns.run, 'ip', 'link', 'delete', outside)
            for address in addresses:
                # Duplicate address detection would take a second.
                nodad = ['nodad'] if ':' in address else []
                namespace.run('ip', 'addr', 'add', address, 'dev', 'veth0',
                              *nodad)
        started = l2fwd.started('packet:toleft', 'packet:toright')
        self.forwarder = started.__enter__()
        self.addCleanup(started.__exit__, None, None, None)
        l2fwd.wait_until(lambda: self.reachable(_RIGHT), 'the first ping')

    def reachable(self, address):
        """Whether one ping from the left is answered."""
        if not self.forwarder.running():
            raise AssertionError(f'l2fwd ended: {self.forwarder.wait()}')
        command = self.left.popen('ping', '-n', '-c1', '-W1', address,
                                  stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
        return command.wait() == 0

    def assert_no_ping_lost(self, count, *arguments):
        output = self.left.run('ping', '-n', '-q', f'-c{count}', *arguments)
        self.assertIn(f'{count} packets transmitted, {count} received', output)
        self.assertNotIn('errors', output)
        self.assertNotIn('duplicates', output)

    def assert_ends_well(self):
        """SIGTERM ends it with a table in which every frame is found again."""
        ended = self.forwarder.stop()
        self.assertEqual((ended.status, ended.stderr), (0, ''), ended)
        self.assertEqual(table.unbalanced(ended.table), [])

    def iperf(self, *arguments):
        """What iperf3 reports of a run from left to right."""
        server = self.right.popen('iperf3', '--server', '--one-off',
                                  '--forceflush', stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT)
        try:
            for line in server.stdout:
                if 'Server listening' in line:
                    break
            output = self.left.run('iperf3', '--json', '--time=2', *arguments)
            server.stdout.read()
            self.assertEqual(server.wait(), 0)
        finally:
            server.kill()
            server.wait()
            server.stdout.close()
        return json.loads(output)['end']

    def test_loses_none_of_1000_pings_a_millisecond_apart(self):
        self.join()
        self.assert_no_ping_lost(1000, '-i0.001', _RIGHT)
        self.assert_no_ping_lost(100, '-i0.001', '-6', _RIGHT6)
        self.assert_ends_well()

    def test_carries_tcp_with_the_offloads_of_the_kernel(self):
        self.join()
        for client in (_RIGHT, _RIGHT6):
            with self.subTest(client=client):
                end = self.iperf(f'--client={client}')
                self.assertGreater(end['sum_received']['bytes'], 1_000_000)
        self.assert_ends_well()

    def test_carries_udp_with_the_offloads_of_the_kernel(self):
        self.join()
        for client in (_RIGHT, _RIGHT6):
            with self.subTest(client=client):
                end = self.iperf(f'--client={client}', '--udp', '--bitrate=10M')
                self.assertGreater(end['sum']['packets'], 1000)
                self.assertEqual(end['sum']['lost_packets'], 0, end['sum'])
        self.assert_ends_well()

    def test_carries_fragments(self):
        self.join()
        self.assert_no_ping_lost(20, '-i0.01', '-s20000', _RIGHT)
        self.assert_no_ping_lost(20, '-i0.01', '-s20000', '-6', _RIGHT6)

    def test_carries_vlan_tags(self):
        self.join()
        vlan_relay.add(self, self.left, '10.8.0.1/24')
        vlan_relay.add(self, self.right, '10.8.0.2/24')
        self.assert_no_ping_lost(100, '-i0.001', '10.8.0.2')
        # Sizes around the MTU: with the tag the frame is four bytes longer.
        self.assert_no_ping_lost(20, '-i0.01', '-s1472', '-Mdo', '10.8.0.2')
        self.assert_ends_well()

    def test_carries_jumbo_frames(self):
        self.join(mtu=9000)
        self.assert_no_ping_lost(100, '-i0.001', '-s8972', '-Mdo', _RIGHT)
        end = self.iperf(f'--client={_RIGHT}')
        self.assertGreater(end['sum_received']['bytes'], 1_000_000)
        self.assert_ends_well()


if __name__ == '__main__':
    netns.enter()
    script_main.main()
