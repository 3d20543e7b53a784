#!/usr/bin/env python3
"""Verbs programs that know nothing of weir run on libweir_hca.so."""

import os
import re
import subprocess
import unittest

import l2fwd
import netns
import script_main

_LIBRARY = os.path.abspath('lib/weir/hca/abi/libweir_hca.so')
_MAC_ONE, _MAC_TWO = '02:00:00:00:01:01', '02:00:00:00:01:02'


def _environment(devices=None):
    """What preloads the library, behind the sanitizer it may be built with."""
    linked = subprocess.run(['ldd', _LIBRARY], stdout=subprocess.PIPE,
                            text=True, check=True).stdout
    preload = re.findall(r'lib[at]san\.so\.\d+ => (\S+)', linked) + [_LIBRARY]
    # The programs free little of what they take.
    sanitizer = os.environ.get('ASAN_OPTIONS', '') + ':detect_leaks=0'
    environment = dict(os.environ, LD_PRELOAD=':'.join(preload),
                       ASAN_OPTIONS=sanitizer.strip(':'))
    environment.pop('WEIR_HCA_DEVICES', None)
    if devices:
        environment['WEIR_HCA_DEVICES'] = devices
    return environment


class DeviceListTest(unittest.TestCase):

    def list_devices(self, devices=None):
        done = subprocess.run(['ibv_devinfo', '-v'], env=_environment(devices),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, check=False)
        self.assertEqual(done.returncode, 0, done)
        return done.stdout

    def test_lists_the_devices_of_the_environment(self):
        output = self.list_devices('soft0=null:;wire:joint,end=a')
        self.assertEqual(re.findall(r'hca_id:\s*(\S+)', output),
                         ['soft0', 'weir1'])
        self.assertEqual(output.count('PORT_ACTIVE'), 2)
        self.assertEqual(re.findall(r'link_layer:\s*(\S+)', output),
                         ['Ethernet', 'Ethernet'])

    def test_lists_the_netdevs_that_are_up(self):
        netns.require()
        netns.run('ip', 'link', 'add', 'seen', 'type', 'veth', 'peer', 'name',
                  'unseen')
        self.addCleanup(netns.run, 'ip', 'link', 'delete', 'seen')
        netns.run('ip', 'link', 'set', 'seen', 'up')
        found = re.findall(r'hca_id:\s*(\S+)', self.list_devices())
        self.assertIn('weir_null0', found)
        self.assertIn('weir_seen', found)
        self.assertNotIn('weir_unseen', found)


class PerftestTest(unittest.TestCase):
    """Server and client in two namespaces that a veth pair joins."""

    def setUp(self):
        netns.require()
        self.one, self.two = netns.Namespace(), netns.Namespace()
        self.addCleanup(self.one.close)
        self.addCleanup(self.two.close)
        netns.run('ip', 'link', 'add', 'veth1', 'address', _MAC_ONE, 'type',
                  'veth', 'peer', 'name', 'veth2', 'address', _MAC_TWO)
        for namespace, netdev in [(self.one, 'veth1'), (self.two, 'veth2')]:
            namespace.adopt(netdev)
            namespace.run('ip', 'link', 'set', netdev, 'up')
        l2fwd.wait_until(lambda: 'LOWER_UP' in self.one.run(
            'ip', 'link', 'show', 'veth1'), 'the link')

    def start(self, namespace, netdev, command):
        return namespace.popen(
            *command, env=_environment(f'soft0=packet:{netdev}'),
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def assert_run_to_the_end(self, program, *arguments):
        """Server and client both end with 0 and print a line of results."""
        common = [program, '--ib-dev=soft0', *arguments]
        server = self.start(self.one, 'veth1', [
            *common, '--server', f'--source_mac={_MAC_ONE}',
            f'--dest_mac={_MAC_TWO}'])
        try:
            self.wait_for_server(server)
            client = self.start(self.two, 'veth2', [
                *common, '--client', f'--source_mac={_MAC_TWO}',
                f'--dest_mac={_MAC_ONE}'])
            try:
                said = client.communicate(timeout=l2fwd.PATIENCE_SECONDS)[0]
            finally:
                client.kill()
            self.assertEqual(client.returncode, 0, said)
            heard = server.communicate(timeout=l2fwd.PATIENCE_SECONDS)[0]
            self.assertEqual(server.returncode, 0, heard)
        finally:
            server.kill()
            server.communicate()
        self.assertRegex(said, r'\n *\d+ +\d+ +\d')

    def wait_for_server(self, server):
        """Returns once the server's device is open.

        From then on frames wait in the packet socket until the server polls.
        """
        def listens():
            if server.poll() is not None:
                raise AssertionError(f'server ended: {server.communicate()[0]}')
            return self.one.run('cat', '/proc/net/packet').count('\n') > 1
        l2fwd.wait_until(listens, "the server's packet socket")

    def test_bandwidth_runs_to_the_end(self):
        self.assert_run_to_the_end('raw_ethernet_bw', '--iters=1000',
                                   '--size=1024')

    def test_bandwidth_of_the_shortest_frames_runs_to_the_end(self):
        self.assert_run_to_the_end('raw_ethernet_bw', '--iters=5000',
                                   '--size=64')

    def test_latency_runs_to_the_end(self):
        self.assert_run_to_the_end('raw_ethernet_lat', '--iters=1000',
                                   '--size=64')


if __name__ == '__main__':
    netns.enter()
    script_main.main()
