#!/usr/bin/env python3
"""perftest's raw Ethernet programs run to their end over every medium."""

import unittest

import netns
import perftest
import script_main

_BANDWIDTH, _LATENCY = 'raw_ethernet_bw', 'raw_ethernet_lat'
_ITERATIONS = '--iters=1000'
# The programs have no flow control, and a lost frame is waited for for ever: no
# more than fits into the queues of a slow receiver (2048 entries of xdp).
_MANY_ITERATIONS = '--iters=2000'
# Bytes, iterations and the first figure.
_RESULT = r'\n *\d+ +[1-9]\d* +\d'


class Modes:
    """The ways to run them, for a class that has a medium()."""

    def setUp(self):
        netns.require()
        self.medium = self.make_medium()

    def run_both(self, program, *arguments):
        """What server and client print; both have to end with 0."""
        server = self.medium.start_server(program, *arguments)
        try:
            client = self.medium.start_client(program, *arguments)
            try:
                self.assertEqual(client.wait(), 0, client.said())
                self.assertEqual(server.wait(), 0, server.said())
                return server.said(), client.said()
            finally:
                client.kill()
        finally:
            server.kill()

    def assert_run_to_the_end(self, program, *arguments):
        """Both print a line of results: bytes, iterations, figures."""
        for said in self.run_both(program, *arguments):
            self.assertRegex(said, _RESULT)

    def test_bandwidth(self):
        self.assert_run_to_the_end(_BANDWIDTH, _MANY_ITERATIONS, '--size=1024')

    def test_bandwidth_of_the_shortest_frames(self):
        self.assert_run_to_the_end(_BANDWIDTH, _MANY_ITERATIONS, '--size=64')

    def test_bandwidth_of_the_longest_frames(self):
        self.assert_run_to_the_end(_BANDWIDTH, _MANY_ITERATIONS, '--size=1518')

    def test_bandwidth_for_a_time(self):
        self.assert_run_to_the_end(_BANDWIDTH, '--duration=3', '--margin=1',
                                   '--size=256')

    def test_latency(self):
        self.assert_run_to_the_end(_LATENCY, _ITERATIONS, '--size=64')

    def test_latency_of_the_longest_frames(self):
        self.assert_run_to_the_end(_LATENCY, _ITERATIONS, '--size=1518')

    def test_lists_of_requests(self):
        self.assert_run_to_the_end(_BANDWIDTH, '--iters=1600', '--size=128',
                                   '--post_list=16', '--recv_post_list=16')

    def test_moderated_completions(self):
        self.assert_run_to_the_end(_BANDWIDTH, _ITERATIONS, '--size=128',
                                   '--cq-mod=50')

    def test_inline_frames(self):
        self.assert_run_to_the_end(_BANDWIDTH, _ITERATIONS, '--size=128',
                                   '--inline_size=128')

    def test_a_short_receive_queue(self):
        self.assert_run_to_the_end(_BANDWIDTH, _ITERATIONS, '--size=128',
                                   '--rx-depth=64')

    def test_udp_over_ipv4(self):
        self.assert_run_to_the_end(_BANDWIDTH, _ITERATIONS, '--size=256',
                                   *perftest.IPV4, *perftest.PORTS)

    def test_tcp_over_ipv4(self):
        self.assert_run_to_the_end(_BANDWIDTH, _ITERATIONS, '--size=256',
                                   '--tcp', *perftest.IPV4, *perftest.PORTS)

    def test_udp_over_ipv6(self):
        self.assert_run_to_the_end(_BANDWIDTH, _ITERATIONS, '--size=256',
                                   *perftest.IPV6, *perftest.PORTS)

    def test_latency_of_udp_over_ipv4(self):
        self.assert_run_to_the_end(_LATENCY, _ITERATIONS, '--size=256',
                                   *perftest.IPV4, *perftest.PORTS)

    def test_vlan_tags(self):
        self.assert_run_to_the_end(_BANDWIDTH, _ITERATIONS, '--size=256',
                                   '--vlan_en', *perftest.IPV4,
                                   *perftest.PORTS)

    def test_both_ways_at_once(self):
        self.assert_run_to_the_end(_BANDWIDTH, _ITERATIONS, '--size=256',
                                   '--bidirectional')

    def test_several_flows(self):
        self.assert_run_to_the_end(_BANDWIDTH, _ITERATIONS, '--size=256',
                                   '--flows=4', *perftest.IPV4,
                                   *perftest.PORTS)

    def test_several_queue_pairs_get_a_copy_each(self):
        self.assert_run_to_the_end(_BANDWIDTH, _ITERATIONS, '--size=256',
                                   '--qp=4')

    def test_promiscuous(self):
        self.assert_run_to_the_end(_BANDWIDTH, _ITERATIONS, '--size=256',
                                   '--promiscuous')

    def test_sniffer(self):
        self.assert_run_to_the_end(_BANDWIDTH, _ITERATIONS, '--size=256',
                                   '--sniffer')

    def test_server_sends_back_what_it_receives(self):
        # Two sides that both do wait for each other for ever.
        arguments = [_BANDWIDTH, '--duration=3', '--margin=1', '--size=256']
        server = self.medium.start_server(*arguments, '--mac_fwd')
        try:
            client = self.medium.start_client(*arguments)
            try:
                self.assertEqual(client.wait(), 0, client.said())
                self.assertEqual(server.wait(), 0, server.said())
                self.assertRegex(client.said(), _RESULT)
                self.assertRegex(server.said(), _RESULT)
            finally:
                client.kill()
        finally:
            server.kill()

    def test_multicast(self):
        # The server's rule comes from ibv_attach_mcast. This version of it
        # frees an array that it never filled at its end, so that only what it
        # printed before counts.
        arguments = [_BANDWIDTH, _ITERATIONS, '--size=256', '--raw_mcast']
        server = self.medium.start_server(*arguments)
        try:
            client = self.medium.start_client(*arguments)
            try:
                client.wait()
                server.wait()
                self.assertRegex(client.said(), _RESULT)
                self.assertRegex(server.said(), _RESULT)
            finally:
                client.kill()
        finally:
            server.kill()

    def test_rate_of_flow_rules(self):
        server = self.medium.start_alone('raw_ethernet_fs_rate',
                                         '--iters=1000', *perftest.IPV4,
                                         *perftest.PORTS)
        try:
            self.assertEqual(server.wait(), 0, server.said())
            self.assertRegex(server.said(), r'#flows.*\n1000 +\d')
        finally:
            server.kill()


class PacketTest(Modes, unittest.TestCase):

    def make_medium(self):
        return perftest.VethMedium('packet', self.addCleanup)


class WireTest(Modes, unittest.TestCase):

    def make_medium(self):
        return perftest.WireMedium('on')

    def test_server_sends_back_what_it_receives(self):
        # The client takes nothing back: a medium that loses nothing would
        # come to a stand.
        self.medium = perftest.WireMedium('off')
        super().test_server_sends_back_what_it_receives()


class XdpTest(Modes, unittest.TestCase):

    def make_medium(self):
        return perftest.VethMedium('xdp', self.addCleanup)


if __name__ == '__main__':
    netns.enter()
    script_main.main()
