#!/usr/bin/env python3
"""Two kernels' network stacks talk through l2fwd on TAP ports.

    left (10.7.0.1) --tap-- l2fwd tap:toleft tap:toright --tap-- right (10.7.0.2)
"""

import json
import subprocess
import unittest

import l2fwd
import netns
import script_main
import table

_LEFT, _RIGHT = '10.7.0.1', '10.7.0.2'


class TapTest(unittest.TestCase):

    def setUp(self):
        netns.require()
        self.left, self.right = netns.Namespace(), netns.Namespace()
        self.addCleanup(self.left.close)
        self.addCleanup(self.right.close)

    def join(self, keys=''):
        """A running l2fwd, its netdevs in the two namespaces."""
        started = l2fwd.started('tap:toleft' + keys, 'tap:toright' + keys)
        self.forwarder = started.__enter__()
        self.addCleanup(started.__exit__, None, None, None)
        self.forwarder.wait_for_output('pool on')
        for namespace, netdev, address in [(self.left, 'toleft', _LEFT),
                                           (self.right, 'toright', _RIGHT)]:
            namespace.adopt(netdev)
            namespace.run('ip', 'addr', 'add', address + '/24', 'dev', netdev)
            namespace.run('ip', 'link', 'set', netdev, 'up')
        l2fwd.wait_until(self.reachable, 'the first ping')

    def reachable(self):
        """Whether one ping from the left is answered."""
        if not self.forwarder.running():
            raise AssertionError(f'l2fwd ended: {self.forwarder.wait()}')
        return self.left.popen('ping', '-n', '-c1', '-W1', _RIGHT,
                               stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL).wait() == 0

    def sent_to_left(self):
        """Frames that the kernel gave to the left port."""
        return int(self.left.run(
            'cat', '/sys/class/net/toleft/statistics/tx_packets'))

    def assert_no_ping_lost(self, count, *arguments):
        output = self.left.run('ping', '-n', '-q', f'-c{count}', *arguments,
                               _RIGHT)
        self.assertIn(f'{count} packets transmitted, {count} received', output)
        self.assertNotIn('errors', output)
        self.assertNotIn('duplicates', output)

    def ended_well(self, stderr='', status=0):
        """The table after SIGTERM, in which every frame is found again; links
        go and come in every test."""
        ended = self.forwarder.stop()
        said = ''.join(line for line in ended.stderr.splitlines(keepends=True)
                       if ': link ' not in line)
        self.assertEqual((ended.status, said), (status, stderr), ended)
        self.assertEqual(table.unbalanced(ended.table), [])
        return ended.table

    def iperf(self, *arguments):
        """What iperf3 reports of a run from left to right."""
        server = self.right.popen('iperf3', '--server', '--one-off',
                                  '--forceflush', stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT)
        try:
            for line in server.stdout:
                if 'Server listening' in line:
                    break
            output = self.left.run('iperf3', '--json', '--time=2',
                                   f'--client={_RIGHT}', *arguments)
            server.stdout.read()
            self.assertEqual(server.wait(), 0)
        finally:
            server.kill()
            server.wait()
            server.stdout.close()
        return json.loads(output)['end']

    def test_loses_none_of_1000_pings(self):
        self.join()
        self.assert_no_ping_lost(1000, '-i0.001')
        self.assert_no_ping_lost(20, '-i0.01', '-s20000')
        self.ended_well()

    def test_carries_tcp_with_the_offloads_of_the_kernel(self):
        self.join()
        end = self.iperf()
        self.assertGreater(end['sum_received']['bytes'], 1_000_000)
        self.ended_well()

    def test_carries_udp_with_the_offloads_of_the_kernel(self):
        self.join()
        end = self.iperf('--udp', '--bitrate=10M')
        self.assertGreater(end['sum']['packets'], 1000)
        self.assertEqual(end['sum']['lost_packets'], 0, end['sum'])
        self.ended_well()

    def test_carries_jumbo_frames(self):
        self.join(',mtu=9000')
        self.assert_no_ping_lost(100, '-i0.001', '-s8972', '-Mdo')
        self.ended_well()

    def test_counts_what_a_larger_mtu_lets_through(self):
        self.join()
        self.left.run('ip', 'link', 'set', 'toleft', 'mtu', '9000')
        lost = self.left.popen('ping', '-n', '-q', '-c3', '-W1', '-i0.1',
                               '-s8972', '-Mdo', _RIGHT,
                               stdout=subprocess.DEVNULL)
        self.assertEqual(lost.wait(), 1)
        self.left.run('ip', 'link', 'set', 'toleft', 'mtu', '1500')
        self.assert_no_ping_lost(10, '-i0.01')
        said = ('l2fwd: port tap:toleft: frames not received as they are longer '
                'than its MTU takes (rx_oversize): 3\n')
        device = self.ended_well(stderr=said)['ports'][0]['device_counters']
        self.assertEqual(device['rx_oversize'], 3)

    def test_goes_on_after_a_link_was_down(self):
        self.join()
        traffic = self.left.popen('ping', '-n', '-q', '-f', '-w60', _RIGHT,
                                  stdout=subprocess.DEVNULL)
        self.addCleanup(traffic.wait)
        self.addCleanup(traffic.kill)
        for _ in range(3):
            self.right.run('ip', 'link', 'set', 'toright', 'down')
            self.right.run('ip', 'link', 'set', 'toright', 'up')
            l2fwd.wait_until(self.reachable, 'a ping after the link came back')
        self.ended_well()

    def test_survives_a_netdev_that_gets_another_name(self):
        self.join()
        traffic = self.left.popen('ping', '-n', '-q', '-f', '-w60', _RIGHT,
                                  stdout=subprocess.DEVNULL)
        self.addCleanup(traffic.wait)
        self.addCleanup(traffic.kill)
        self.right.run('ip', 'link', 'set', 'toright', 'down')
        self.right.run('ip', 'link', 'set', 'toright', 'name', 'other')
        self.right.run('ip', 'link', 'set', 'other', 'up')
        l2fwd.wait_until(self.reachable, 'a ping after the new name')
        self.ended_well()

    def test_counts_what_it_cannot_send_to_a_deleted_netdev(self):
        self.join()
        traffic = self.left.popen('ping', '-n', '-q', '-f', '-b', '-w60',
                                  '10.7.0.255', stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
        self.addCleanup(traffic.wait)
        self.addCleanup(traffic.kill)
        self.right.run('ip', 'link', 'delete', 'toright')
        l2fwd.wait_until(lambda: 'is gone' in self.forwarder.errors(),
                         'the warning')
        # The first of them has passed when a tenth is sent.
        before = self.sent_to_left()
        l2fwd.wait_until(lambda: self.sent_to_left() >= before + 10,
                         'frames to drop')
        port = self.ended_well(
            'l2fwd: port tap:toright: its device is gone; nothing comes from '
            'it any more, what is sent to it is dropped and counted '
            '(port-gone)\n', status=1)['ports'][1]
        self.assertEqual(port['state'], 'gone')
        self.assertGreater(port['queues'][1]['drops']['port-gone'], 0)
        self.assertEqual([queue['held_mbufs'] for queue in port['queues']],
                         [0, 0])

    def test_takes_its_netdevs_along_when_killed(self):
        self.join()
        self.forwarder.close()
        self.assertNotIn('toleft', self.left.run('ip', 'link'))
        self.assertNotIn('toright', self.right.run('ip', 'link'))


if __name__ == '__main__':
    netns.enter()
    script_main.main()
