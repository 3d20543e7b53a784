#!/usr/bin/env python3
"""mcast relay between kernels: members behind one port, senders behind the other."""

import subprocess
import unittest

import group_peers
import netns
import relay_case
import script_main
from relay_case import DOWN, GROUP, GROUP6, JOINS, LEAVES, MARK, MARK6, PORT
from relay_case import PROGRAM, UP, UP6, payload

_OTHER = '233.252.0.6'


class RelayTest(relay_case.RelayCase):

    def assert_relayed(self, kind, group, mark, source):
        """All sizes, byte for byte, with one hop less; nothing before the join
        and nothing after the leave."""
        run = self.relay(kind=kind)
        sender = self.sender(source)
        other = self.joined(mark)
        sender.send(b'early', group, PORT)
        sender.send(b'mark', mark, PORT)
        self.assertEqual(other.receive(), (source, 4, b'mark'))
        self.assertEqual(self.frames_to(group), 0)
        member = self.joined(group)
        for size in [0, 1, 100, 1400, 9000, 60000]:
            sender.send(payload(size), group, PORT)
            self.assertEqual(member.receive(), (source, 4, payload(size)))
        member.leave()
        self.upstream.wait_for_record(LEAVES, group, [])
        before = self.frames_to(group)
        sender.send(b'late', group, PORT)
        sender.send(b'mark', mark, PORT)
        self.assertEqual(other.receive(), (source, 4, b'mark'))
        self.assertEqual(self.frames_to(group), before)
        outcome = self.stopped(run)
        # It leaves what is left.
        self.upstream.wait_for_record(LEAVES, mark, [])
        counted = {entry['group']: entry
                   for entry in outcome.table['relay']['groups']}
        self.assertEqual(counted[mark]['packets'], 2)
        self.assertEqual(counted[mark]['members'],
                         {'mode': 'exclude', 'sources': []})
        # Of 9,000 and 60,000 bytes: fragments (RFC 791, RFC 8200 §4.5).
        self.assertEqual(counted[group]['packets'], 4 + 7 + 41
                         if ':' not in group else 4 + 7 + 42)
        self.assertIsNone(counted[group]['members'])
        self.assertIn(mark, outcome.stdout)

    def test_ipv4_over_packet(self):
        self.assert_relayed('packet', GROUP, MARK, UP)

    def test_ipv6_over_packet(self):
        self.wait_for_ipv6()
        self.assert_relayed('packet', GROUP6, MARK6, UP6)

    def test_ipv4_over_xdp(self):
        self.assert_relayed('xdp', GROUP, MARK, UP)

    def test_ipv6_over_xdp(self):
        self.wait_for_ipv6()
        self.assert_relayed('xdp', GROUP6, MARK6, UP6)

    def test_members_of_version_2(self):
        relay_case.setting(self.members, 'ipv4/conf/down0/force_igmp_version', 2)
        self.assert_relayed('packet', GROUP, MARK, UP)

    def test_sources_are_wanted_upstream_and_no_others_relayed(self):
        self.senders.run('ip', 'addr', 'add', '192.0.2.3/24', 'dev', 'up0')
        run = self.relay()
        member = self.joined(GROUP, ['192.0.2.3'])
        everybody = self.joined(MARK)
        self.sender(UP).send(b'not wanted', GROUP, PORT)
        self.sender('192.0.2.3').send(b'wanted', GROUP, PORT)
        self.assertEqual(member.receive(), ('192.0.2.3', 4, b'wanted'))
        self.assertEqual(self.frames_to(GROUP), 1)
        # Another source of the same group.
        second = self.joined(GROUP, [UP])
        self.sender(UP).send(b'wanted now', GROUP, PORT)
        self.assertEqual(second.receive(), (UP, 4, b'wanted now'))
        everybody.close()
        outcome = self.stopped(run)
        self.assertEqual(self.drops(outcome, 'igmp-host')['source not wanted'],
                         1)

    def test_ipv6_sources(self):
        self.wait_for_ipv6()
        run = self.relay()
        member = self.joined('ff3e::8000:7', [UP6])
        sender = self.sender(UP6)
        sender.send(b'wanted', 'ff3e::8000:7', PORT)
        self.assertEqual(member.receive(), (UP6, 4, b'wanted'))
        self.stopped(run)

    def test_what_has_to_stay_on_its_link_stays(self):
        run = self.relay('--static=233.252.0.9')
        self.upstream.wait_for_record(JOINS, MARK, [])
        mark = self.member(MARK)
        local = self.member('224.0.0.251')
        one_hop = self.joined(GROUP)
        self.sender().send(b'of the link', '224.0.0.251', PORT)
        self.sender(ttl=1).send(b'one hop', GROUP, PORT)
        self.sender().send(b'not joined', _OTHER, PORT)
        self.sender().send(b'mark', MARK, PORT)
        self.assertEqual(mark.receive(), (UP, 4, b'mark'))
        for group in (GROUP, _OTHER, '224.0.0.251'):
            self.assertEqual(self.frames_to(group), 0, group)
        # Nobody upstream was asked for a group of the link (RFC 5771 §4).
        for frame in self.upstream.all:
            for record in group_peers.records_of(frame):
                self.assertNotEqual(record.group, '224.0.0.251')
        for member in (local, one_hop):
            member.close()
        outcome = self.stopped(run)
        self.assertEqual(self.drops(outcome, 'relay')['no hops left'], 1)
        self.assertGreater(
            outcome.table['relay']['changes_of_link_groups'], 0)

    def test_it_counts_the_groups_that_it_lists(self):
        self.wait_for_ipv6()
        run = self.relay('--group=233.252.0.0/16,ff3e::/16')
        reports = group_peers.Sniffer(None, 'tomembers')
        self.addCleanup(reports.close)
        for group in ('224.0.0.251', '239.1.2.3', 'ff1e::5'):
            self.member(group)
            reports.wait_for_record(JOINS, group, [])
        # Said behind those.
        for group in (GROUP, MARK, GROUP6):
            self.joined(group)
        outcome = self.stopped(run)
        relay = outcome.table['relay']
        listed = {entry['group'] for entry in relay['groups']
                  if entry['members']}
        self.assertEqual(listed, {GROUP, MARK, GROUP6})
        igmp, mld = relay['routers']
        self.assertEqual((igmp['groups'], mld['groups']), (2, 1))
        # Those of the link and those that --group leaves out; of IPv6 the
        # kernel may say those of its own addresses too.
        self.assertEqual(igmp['groups_not_relayed'], 2)
        self.assertGreaterEqual(mld['groups_not_relayed'], 1)
        for says in ('2 groups, 2 more that are not relayed',
                     f'1 groups, {mld["groups_not_relayed"]} more that are not '
                     'relayed'):
            self.assertIn(says, outcome.stdout)

    def test_static_groups_need_no_member(self):
        run = self.relay(f'--static={GROUP}')
        self.upstream.wait_for_record(JOINS, GROUP, [])
        self.sender().send(b'to all', GROUP, PORT)
        packed = group_peers.packed(GROUP)
        self.downstream.wait(lambda frame: frame[30:34] == packed,
                             'a datagram')
        outcome = self.stopped(run)
        self.upstream.wait_for_record(LEAVES, GROUP, [])
        self.assertTrue(outcome.table['relay']['groups'][0]['static'])

    def test_only_groups_that_may_be_are_relayed(self):
        run = self.relay('--group=233.252.0.8/31')
        refused = self.member(GROUP)
        allowed = self.joined(MARK)
        self.sender().send(b'refused', GROUP, PORT)
        self.sender().send(b'mark', MARK, PORT)
        self.assertEqual(allowed.receive(), (UP, 4, b'mark'))
        self.assertEqual(self.frames_to(GROUP), 0)
        refused.close()
        outcome = self.stopped(run)
        self.assertGreater(outcome.table['relay']['changes_not_allowed'], 0)

    def test_both_ways(self):
        run = self.relay('--both_ways')
        with_sender = group_peers.Sender(self.members, 'down0', DOWN, 3)
        self.addCleanup(with_sender.close)
        packed = group_peers.packed(GROUP)
        with_sender.send(b'to the senders', GROUP, PORT)
        frame = self.upstream.wait(lambda frame: frame[30:34] == packed,
                                   'a datagram')
        self.assertEqual((frame[22], frame[42:56]), (2, b'to the senders'))
        outcome = self.stopped(run)
        self.assertEqual(outcome.table['relay']['groups'][0]['packets_up'], 1)

    def test_one_way_unless_told_otherwise(self):
        run = self.relay()
        member = self.joined(MARK)
        back = group_peers.Sender(self.members, 'down0', DOWN, 3)
        self.addCleanup(back.close)
        back.send(b'not upstream', GROUP, PORT)
        # Comes behind it.
        member.leave()
        self.upstream.wait_for_record(LEAVES, MARK, [])
        outcome = self.stopped(run)
        # And what the kernel says to its neighbours.
        self.assertGreater(
            self.drops(outcome, 'relay')['not relayed from this port'], 0)
        self.upstream.read()
        packed = group_peers.packed(GROUP)
        self.assertFalse(any(frame[30:34] == packed
                             for frame in self.upstream.all))


class FlagsTest(unittest.TestCase):

    def run_it(self, *arguments):
        return subprocess.run([PROGRAM, 'relay', *arguments], text=True,
                              stdin=subprocess.DEVNULL, capture_output=True,
                              check=False, timeout=60)

    def test_wrong_flags_are_named(self):
        good = ['null:', 'null:,mtu=1400', '--ip_out=192.0.2.1',
                '--duration=100ms']
        for flag, says in [
                ('--group=192.0.2.1', '--group: want multicast groups'),
                ('--group=224.0.0.5', 'is a group of the link'),
                ('--group=224.0.0.0/24', 'is a group of the link'),
                ('--group=239.0.0.0/33', 'a prefix of 4 to 32 bits'),
                ('--group=239.1.2.3/40', 'bits, got 239.1.2.3/40'),
                ('--group=239.1.2.3/14', '--group: 239.1.2.3/14 has bits behind '
                 'its prefix; want 239.0.0.0/14'),
                ('--group=224.1.2.3/4', 'want 224.0.0.0/4\n'),
                ('--group=224.0.0.0/4,ff3e::1/16', 'want ff3e::/16\n'),
                ('--group=ff3e::/16', 'say one: --ip_out=fe80::1'),
                ('--static=ff02::1', 'is a group of the link'),
                ('--static=239.1.2.3,', 'got nothing'),
                ('--ip_out=2001:db8::1', '--ip_out: want an address of null:'),
                ('--ip_in=nowhere', '--ip_in: want an address of null:'),
                ('--ip_out=', 'say one: --ip_out=192.0.2.1 or fe80::1'),
                ('--max_groups=0', '--max_groups: want 1 to 4096, got 0'),
                ('--query_interval=0s', '--query_interval: want 1s to 31744s'),
                ('--vlan=4095', '--vlan: want 1 to 4094')]:
            done = self.run_it(*good, flag)
            self.assertEqual(done.returncode, 1, flag)
            self.assertIn(says, done.stderr)
            self.assertEqual(done.stderr.count('\n'), 1, done.stderr)

    def test_a_static_group_has_to_be_allowed(self):
        done = self.run_it('null:', 'null:', '--ip_out=192.0.2.1',
                           '--group=239.1.0.0/16', '--static=239.2.0.1')
        self.assertIn('239.2.0.1 is not among the groups of --group',
                      done.stderr)

    def test_it_needs_two_ports(self):
        for ports, says in [(['null:'], 'want exactly 2 ports'),
                            (['null:'] * 3, 'want exactly 2 ports'),
                            (['packet:lo', 'xdp:lo'], 'given twice')]:
            done = self.run_it(*ports, '--ip_out=192.0.2.1')
            self.assertEqual(done.returncode, 1)
            self.assertIn(says, done.stderr)


if __name__ == '__main__':
    netns.enter()
    script_main.main()
