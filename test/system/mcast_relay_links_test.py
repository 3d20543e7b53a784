#!/usr/bin/env python3
"""mcast relay beside bridges, routers and members that are not what they should
be."""

import os
import random
import signal
import socket
import struct
import subprocess
import tempfile
import time
import unittest

import group_peers
import l2fwd
import netns
import relay_case
import script_main
import table
from relay_case import GROUP, JOINS, LEAVES, MARK, PORT, UP, payload

_IP_MTU_DISCOVER, _IPV6_MTU_DISCOVER = 10, 23
_PMTUDISC_DONT, _PMTUDISC_PROBE = 0, 3


def _group(number):
    """One of many."""
    return f'239.1.{number // 256}.{number % 256}'


class LinksTest(relay_case.RelayCase):

    def host_behind(self, switch, number):
        """A namespace with a netdev down0 at port `number` of its bridge."""
        host = netns.Namespace()
        self.addCleanup(host.close)
        switch.run('ip', 'link', 'add', f'p{number}', 'type', 'veth', 'peer',
                   'name', 'down0', 'netns', str(host.pid))
        switch.run('ip', 'link', 'set', f'p{number}', 'master', 'br0', 'up')
        host.run('ip', 'link', 'set', 'down0', 'up')
        host.run('ip', 'addr', 'add', f'198.51.100.{number}/24', 'dev', 'down0')
        relay_case.setting(host, 'ipv4/conf/all/rp_filter', 0)
        relay_case.setting(host, 'ipv4/conf/down0/rp_filter', 0)
        return host

    def bridge(self, namespace, netdev):
        """Puts `netdev` of the namespace behind a bridge that snoops."""
        namespace.run('ip', 'link', 'add', 'br0', 'type', 'bridge',
                      'mcast_snooping', '1', 'mcast_igmp_version', '3')
        namespace.run('ip', 'link', 'set', netdev, 'master', 'br0')
        namespace.run('ip', 'link', 'set', 'br0', 'up')

    def mdb(self, namespace):
        """(port, group) of what a bridge has learnt."""
        words = namespace.run('/sbin/bridge', 'mdb', 'show').split()
        return {(words[i + 1], words[i + 3])
                for i, word in enumerate(words) if word == 'port'}

    def test_two_members_behind_a_bridge(self):
        self.bridge(self.members, 'down0')
        hosts = [self.host_behind(self.members, number) for number in (11, 12)]
        alone = group_peers.Sniffer(hosts[1], 'down0')
        self.addCleanup(alone.close)
        run = self.relay()
        first, second = [self.member(GROUP, namespace=host) for host in hosts]
        self.upstream.wait_for_record(JOINS, GROUP, [])
        l2fwd.wait_until(
            lambda: {('p11', GROUP), ('p12', GROUP)} <= self.mdb(self.members),
            'both in the table of the bridge')
        mark = self.joined(MARK, namespace=hosts[0])
        sender = self.sender()
        sender.send(b'both', GROUP, PORT)
        self.assertEqual(first.receive(), (UP, 4, b'both'))
        self.assertEqual(second.receive(), (UP, 4, b'both'))
        # The first leaves GROUP, in which the second stays, and MARK, in which
        # nobody does. When MARK is left GROUP would have been too.
        first.leave()
        mark.leave()
        self.upstream.wait_for_record(LEAVES, MARK, [])
        sender.send(b'one is enough', GROUP, PORT)
        self.assertEqual(second.receive(), (UP, 4, b'one is enough'))
        # Nobody but members got what was relayed.
        alone.read()
        self.assertFalse(any(frame[30:34] == group_peers.packed(MARK)
                             and frame[23] == 17 for frame in alone.all))
        self.stopped(run)

    def test_an_upstream_bridge_learns_what_is_wanted(self):
        self.bridge(self.senders, 'up0')
        self.senders.run('ip', 'addr', 'flush', 'dev', 'up0')
        self.senders.run('ip', 'addr', 'add', f'{UP}/24', 'dev', 'br0')
        relay_case.setting(self.senders, 'ipv4/conf/br0/rp_filter', 0)
        self.senders.run('ip', 'link', 'set', 'br0', 'type', 'bridge',
                         'mcast_startup_query_interval', '100',
                         'mcast_query_response_interval', '100',
                         'mcast_querier', '1')
        run = self.relay()
        member = self.joined(GROUP)
        l2fwd.wait_until(lambda: ('up0', GROUP) in self.mdb(self.senders),
                         'the group in the table of the bridge')
        # Its queries are answered.
        self.upstream.wait_for_record(('IS_EX',), GROUP, [])
        sender = group_peers.Sender(self.senders, 'br0', UP, 5)
        self.addCleanup(sender.close)
        sender.send(b'by the bridge', GROUP, PORT)
        self.assertEqual(member.receive(), (UP, 4, b'by the bridge'))
        member.leave()
        l2fwd.wait_until(lambda: ('up0', GROUP) not in self.mdb(self.senders),
                         'the group to go from the table of the bridge')
        self.stopped(run)

    def test_behind_the_kernels_multicast_routing(self):
        """Two routers: the kernel, told by smcroute, and the relay."""
        far = netns.Namespace()
        self.addCleanup(far.close)
        self.senders.run('ip', 'link', 'add', 'tofar', 'type', 'veth', 'peer',
                         'name', 'far0', 'netns', str(far.pid))
        self.senders.run('ip', 'link', 'set', 'tofar', 'up')
        far.run('ip', 'link', 'set', 'far0', 'up')
        far.run('ip', 'addr', 'add', '203.0.113.2/24', 'dev', 'far0')
        self.senders.run('ip', 'addr', 'add', '203.0.113.1/24', 'dev', 'tofar')
        relay_case.setting(self.senders, 'ipv4/ip_forward', 1)
        relay_case.setting(self.senders, 'ipv4/conf/tofar/rp_filter', 0)
        config = os.path.join(self.folder.name, 'smcroute.conf')
        with open(config, 'w', encoding='utf-8') as file:
            file.write(f'mgroup from tofar group {GROUP}\n'
                       f'mroute from tofar group {GROUP} to up0\n')
        routing = self.senders.popen(
            '/usr/sbin/smcrouted', '-n', '-f', config, '-i', f'relay{os.getpid()}',
            '-P', os.path.join(self.folder.name, 'pid'),
            '-u', os.path.join(self.folder.name, 'socket'),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(routing.wait)
        self.addCleanup(routing.terminate)
        run = self.relay()
        member = self.joined(GROUP)
        l2fwd.wait_until(
            lambda: '203.0.113' in self.senders.run('ip', 'mroute') or
            self.routed(far, member), 'a datagram through both routers')
        sender = group_peers.Sender(far, 'far0', '203.0.113.2', 9)
        self.addCleanup(sender.close)
        sender.send(payload(9000), GROUP, PORT)
        while True:
            source, hops, data = member.receive()
            if data != b'knock':
                break
        self.assertEqual((source, hops, data),
                         ('203.0.113.2', 7, payload(9000)))
        self.stopped(run)

    def routed(self, far, member):
        """Whether a datagram from there comes."""
        sender = group_peers.Sender(far, 'far0', '203.0.113.2', 9)
        sender.send(b'knock', GROUP, PORT)
        sender.close()
        member.socket.settimeout(0.1)
        try:
            member.receive()
        except socket.timeout:
            return False
        finally:
            member.socket.settimeout(group_peers.PATIENCE_SECONDS)
        return True

    def test_another_router_with_a_lower_address_takes_over(self):
        run = self.relay('--query_interval=1s')
        member = self.joined(GROUP)
        sender = self.sender()
        member.socket.settimeout(0.2)
        end = time.monotonic() + l2fwd.PATIENCE_SECONDS
        while True:
            self.downstream.send(group_peers.igmp_query('198.51.100.0'))
            sender.send(b'whose turn', GROUP, PORT)
            try:
                member.receive()
            except socket.timeout:
                break
            self.assertLess(time.monotonic(), end)
        # When the other one is silent for twice its interval, all is as before.
        while True:
            sender.send(b'ours again', GROUP, PORT)
            try:
                if member.receive()[2] == b'ours again':
                    break
            except socket.timeout:
                self.assertLess(time.monotonic(), end)
        outcome = self.stopped(run)
        self.assertGreater(self.drops(outcome, 'relay')
                           ['another router asks on the link'], 0)
        router = outcome.table['relay']['routers'][0]
        self.assertTrue(router['is_querier'])
        self.assertGreater(router['queries_heard'], 0)

    def test_members_that_do_not_leave_are_forgotten(self):
        run = self.relay('--query_interval=1s')
        # RFC 3376 §8.4: 2 * 1 s + 0.5 s.
        self.downstream.send(group_peers.igmp_report('198.51.100.77',
                                                     [(4, GROUP)]))
        self.upstream.wait_for_record(JOINS, GROUP, [])
        self.upstream.wait_for_record(LEAVES, GROUP, [])
        self.stopped(run)

    def test_reports_for_many_groups_are_bounded_and_counted(self):
        run = self.relay('--max_groups=100')
        member = self.joined(GROUP)
        for first in range(0, 2000, 50):
            self.downstream.send(group_peers.igmp_report(
                '198.51.100.77',
                [(4, _group(number)) for number in range(first, first + 50)]))
        # The last of those for which there is room.
        self.upstream.wait_for_record(JOINS, _group(98), [])
        sender = self.sender()
        for number in (0, 98, 99):
            sender.send(b'one of many', _group(number), PORT)
        sender.send(b'still here', GROUP, PORT)
        self.assertEqual(member.receive(), (UP, 4, b'still here'))
        self.assertEqual([self.frames_to(_group(number))
                          for number in (0, 98, 99)], [1, 1, 0])
        # Comes behind all of them.
        member.leave()
        self.upstream.wait_for_record(LEAVES, GROUP, [])
        outcome = self.stopped(run)
        router = outcome.table['relay']['routers'][0]
        self.assertEqual(router['groups'], 99)
        self.assertGreaterEqual(router['groups_refused'], 1901)
        self.assertIn('--max_groups', outcome.stdout)

    def test_broken_messages_change_nothing(self):
        run = self.relay()
        member = self.joined(GROUP)
        noise = random.Random(1)
        good = group_peers.igmp_report('198.51.100.77', [(3, GROUP)])
        for _ in range(2000):
            frame = bytearray(good)
            # Behind the header of IP, which would not come so far.
            for _ in range(noise.randrange(1, 5)):
                frame[noise.randrange(38, len(frame))] ^= noise.randrange(1, 256)
            self.downstream.send(bytes(frame[:noise.choice([len(frame), 46])]))
        self.sender().send(b'still here', GROUP, PORT)
        self.assertEqual(member.receive(), (UP, 4, b'still here'))
        # Comes behind all of them.
        member.leave()
        self.upstream.wait_for_record(LEAVES, GROUP, [])
        outcome = self.stopped(run)
        drops = self.drops(outcome, 'igmp-router')
        self.assertGreater(drops['checksum of a message'], 500)

    def test_what_is_longer_than_the_other_link_takes(self):
        for netdev in ('tomembers',):
            netns.run('ip', 'link', 'set', netdev, 'mtu', '1280')
        self.wait_for_ipv6()
        run = self.relay()
        member, member6 = self.joined(GROUP), self.joined('ff3e::8000:5')
        sender = self.sender()
        sender.socket.setsockopt(socket.IPPROTO_IP, _IP_MTU_DISCOVER,
                                 _PMTUDISC_PROBE)
        sender.send(payload(1400), GROUP, PORT)
        sender.socket.setsockopt(socket.IPPROTO_IP, _IP_MTU_DISCOVER,
                                 _PMTUDISC_DONT)
        sender.send(payload(1401), GROUP, PORT)
        self.assertEqual(member.receive(), (UP, 4, payload(1401)))
        sender6 = self.sender(relay_case.UP6)
        sender6.send(payload(1400), 'ff3e::8000:5', PORT)
        # RFC 4443 §3.2, §2.4 (e.3): Packet Too Big, of 1280.
        answer = self.upstream.wait(
            lambda frame: frame[12:14] == b'\x86\xdd' and frame[20] == 58 and
            frame[54] == 2, 'an answer')
        self.assertEqual(struct.unpack_from('>I', answer, 58), (1280,))
        sender6.send(payload(1000), 'ff3e::8000:5', PORT)
        self.assertEqual(member6.receive(), (relay_case.UP6, 4, payload(1000)))
        outcome = self.stopped(run)
        self.assertEqual(self.drops(outcome, 'fragment')
                         ['over the MTU, and DF set'], 1)

    def test_a_link_that_was_gone_is_told_again(self):
        run = self.relay()
        member = self.joined(GROUP)
        self.senders.run('ip', 'link', 'set', 'up0', 'down')
        l2fwd.wait_until(lambda: 'link is down' in run.errors(),
                         'news of the link')
        self.senders.run('ip', 'link', 'set', 'up0', 'up')
        self.upstream.wait_for_record(JOINS, GROUP, [])
        self.sender().send(b'again', GROUP, PORT)
        self.assertEqual(member.receive(), (UP, 4, b'again'))
        outcome = run.stop()
        self.assertTrue(outcome.table['packets']['conserved'])

    def test_it_ends_without_the_link_of_its_members(self):
        run = self.relay()
        self.joined(GROUP)
        self.sender().send(b'before', GROUP, PORT)
        l2fwd.wait_until(lambda: self.frames_to(GROUP) == 1, 'a datagram')
        netns.run('ip', 'link', 'delete', 'tomembers')
        self.ended(run, 'packet:tomembers')
        # Routers of the other link are told.
        self.upstream.wait_for_record(LEAVES, GROUP, [])

    def test_it_ends_without_the_link_of_the_senders(self):
        run = self.relay()
        self.joined(GROUP)
        netns.run('ip', 'link', 'delete', 'tosenders')
        self.ended(run, 'packet:tosenders')

    def ended(self, run, port):
        """It ended by itself, since the port is gone, with its table."""
        outcome = run.wait()
        self.assertEqual(outcome.status, 1)
        # A link that goes down on its way out may be seen as such.
        self.assertRegex(
            outcome.stderr,
            rf'\A(mcast: port {port}: link is down; [^\n]+\n)?'
            rf'mcast: port {port}: its device is gone; [^\n]+\n\Z')
        self.assertIn('members behind packet:tomembers:', outcome.stdout)
        self.assertEqual(table.unbalanced(outcome.table), [])
        self.assertEqual(outcome.table['mbufs']['held'], 0)

    def test_both_pipelines_on_one_lcore(self):
        run = self.relay('--lcores=0')
        member = self.joined(GROUP)
        self.sender().send(b'one lcore', GROUP, PORT)
        self.assertEqual(member.receive(), (UP, 4, b'one lcore'))
        outcome = run.stop()
        self.assertTrue(outcome.table['packets']['conserved'])


class WireTest(unittest.TestCase):

    def start(self, *arguments):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        run = l2fwd.Run(arguments, folder.name, program=relay_case.PROGRAM)
        self.addCleanup(run.close)
        return run

    def test_send_relay_and_recv_without_a_kernel(self):
        name = f'relay{os.getpid()}'
        relay = self.start('relay', f'wire:{name}a', f'wire:{name}b',
                           '--ip_in=192.0.2.1', '--ip_out=198.51.100.1')
        relay.wait_for_output('lcore')
        received = self.start('recv', f'wire:{name}b', f'--group={GROUP}',
                              f'--udp_port={PORT}', '--ip=198.51.100.2',
                              '--count=5')
        received.wait_for_output('lcore')
        self.start('send', f'wire:{name}a', f'--group={GROUP}',
                   f'--udp_port={PORT}', '--ip=192.0.2.2', '--ttl=2',
                   '--size=9000', '--rate=100')
        outcome = received.wait()
        self.assertEqual((outcome.status, outcome.stderr), (0, ''))
        relay.signal(signal.SIGTERM)
        groups = relay.wait().table['relay']['groups']
        self.assertGreaterEqual(groups[0]['packets'], 5 * 7)


if __name__ == '__main__':
    netns.enter()
    script_main.main()
