#!/usr/bin/env python3
"""Two kernels' network stacks talk through l2fwd on AF_XDP ports.

    left (10.8.0.1) ==veth== l2fwd xdp:… xdp:… ==veth== right (10.8.0.2)
"""

import signal
import subprocess
import unittest

import l2fwd
import netns
import script_main
import table

_RIGHT = '10.8.0.2'


class XdpTest(unittest.TestCase):

    def setUp(self):
        netns.require()
        self.left, self.right = netns.Namespace(), netns.Namespace()
        self.addCleanup(self.left.close)
        self.addCleanup(self.right.close)
        for namespace, outside, address in [
                (self.left, 'toleft', '10.8.0.1/24'),
                (self.right, 'toright', _RIGHT + '/24')]:
            netns.link('veth0', outside, namespace)
            self.addCleanup(netns.run, 'ip', 'link', 'delete', outside)
            namespace.run('ip', 'addr', 'add', address, 'dev', 'veth0')

    def forward(self, *ports, **kwargs):
        """A running l2fwd that joins the two."""
        started = l2fwd.started(*ports, **kwargs)
        forwarder = started.__enter__()
        self.addCleanup(started.__exit__, None, None, None)
        l2fwd.wait_until(lambda: self.reachable(forwarder), 'the first ping')
        return forwarder

    def reachable(self, forwarder):
        """Whether one ping from the left is answered."""
        if not forwarder.running():
            raise AssertionError(f'l2fwd ended: {forwarder.wait()}')
        command = self.left.popen('ping', '-n', '-c1', '-W1', _RIGHT,
                                  stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
        return command.wait() == 0

    def assert_no_program(self):
        for netdev in ('toleft', 'toright'):
            shown = subprocess.run(['ip', 'link', 'show', 'dev', netdev],
                                   stdout=subprocess.PIPE, text=True,
                                   check=True).stdout
            self.assertNotIn('prog/xdp', shown)

    def test_carries_pings_and_ends_well(self):
        forwarder = self.forward('xdp:toleft', 'xdp:toright')
        output = self.left.run('ping', '-n', '-q', '-c200', '-i0.005', _RIGHT)
        self.assertIn('200 packets transmitted, 200 received', output)
        ended = forwarder.stop()
        self.assertEqual((ended.status, ended.stderr), (0, ''), ended)
        self.assertEqual(table.unbalanced(ended.table), [])
        self.assertIn('native XDP, copy', ended.stdout)
        self.assert_no_program()

    def test_carries_a_tcp_stream_whose_checksums_are_left_unfinished(self):
        self.forward('xdp:toleft', 'xdp:toright')
        server = self.right.popen('iperf3', '--server', '--one-off',
                                  '--forceflush', stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT)
        self.addCleanup(server.stdout.close)
        for line in server.stdout:
            if 'Server listening' in line:
                break
        self.left.run('iperf3', '--client', _RIGHT, '--time=1')
        server.stdout.read()
        self.assertEqual(server.wait(), 0)

    def test_spreads_streams_over_queues(self):
        forwarder = self.forward('xdp:toleft', 'xdp:toright', '--queues=3')
        server = self.right.popen('iperf3', '--server', '--one-off',
                                  '--forceflush', stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT)
        self.addCleanup(server.stdout.close)
        for line in server.stdout:
            if 'Server listening' in line:
                break
        self.left.run('iperf3', '--client', _RIGHT, '--time=1', '--parallel=16')
        server.stdout.read()
        self.assertEqual(server.wait(), 0)
        ended = forwarder.stop()
        self.assertEqual(ended.status, 0, ended)
        self.assertEqual(table.unbalanced(ended.table), [])
        for port in ended.table['ports']:
            received = [queue['packets'] for queue in port['queues']
                        if queue['name'].startswith('rx')]
            self.assertEqual(len(received), 3)
            self.assertGreater(sorted(received)[1], 100, received)

    def test_is_what_a_bare_netdev_takes(self):
        forwarder = self.forward('toleft', 'toright')
        self.assertIn('toleft: it has no RDMA device, taking xdp:toleft',
                      forwarder.stop().stdout)

    def test_a_bare_netdev_takes_packet_without_the_rights_for_it(self):
        forwarder = self.forward('toleft', 'toright',
                                 without=('net_admin', 'bpf', 'sys_admin'))
        shown = forwarder.stop().stdout
        self.assertIn('CAP_BPF', shown)
        self.assertIn('CAP_NET_ADMIN', shown)
        self.assertIn('taking packet:toleft', shown)

    def test_starts_again_after_it_was_killed(self):
        forwarder = self.forward('xdp:toleft', 'xdp:toright')
        forwarder.signal(signal.SIGKILL)
        forwarder.wait()
        self.assert_no_program()
        again = self.forward('xdp:toleft', 'xdp:toright')
        ended = again.stop()
        self.assertEqual((ended.status, ended.stderr), (0, ''), ended)
        self.assert_no_program()


if __name__ == '__main__':
    netns.enter()
    script_main.main()
