#!/usr/bin/env python3
"""mcast relay between kernels: members behind one port, senders behind the other.

    up0 (192.0.2.2) ==veth== tosenders  mcast relay  tomembers ==veth== down0
"""

import os
import random
import subprocess
import tempfile
import unittest

import group_peers as groups
import l2fwd
import netns
import script_main

_PROGRAM = os.path.abspath('apps/mcast/mcast')
_GROUP, _OTHER, _MARK = '233.252.0.5', '233.252.0.6', '233.252.0.9'
_GROUP6, _MARK6 = 'ff3e::8000:5', 'ff3e::8000:9'
_PORT = 5001
_UP, _DOWN = '192.0.2.2', '198.51.100.2'
_UP6, _DOWN6 = '2001:db8:1::2', '2001:db8:2::2'
# Whoever says that a group is wanted from now on, in whatever version.
_JOINS = ('TO_EX', 'IS_EX')
_LEAVES = ('TO_IN',)


def _payload(size, seed=0):
    return random.Random(size * 1000 + seed).randbytes(size)


def _setting(namespace, path, value):
    namespace.run('sh', '-c', f'echo {value} > /proc/sys/net/{path}')


class RelayTest(unittest.TestCase):

    def setUp(self):
        netns.require()
        self.senders = netns.Namespace()
        self.addCleanup(self.senders.close)
        self.members = netns.Namespace()
        self.addCleanup(self.members.close)
        for inside, outside, namespace, own, other in [
                ('up0', 'tosenders', self.senders, '192.0.2.1/24', _UP),
                ('down0', 'tomembers', self.members, '198.51.100.1/24', _DOWN)]:
            netns.link(inside, outside, namespace)
            self.addCleanup(netns.run, 'ip', 'link', 'delete', outside)
            netns.run('ip', 'addr', 'add', own, 'dev', outside)
            namespace.run('ip', 'addr', 'add', f'{other}/24', 'dev', inside)
            # So that fragments of one datagram are not taken for too many.
            _setting(namespace, 'ipv4/ipfrag_max_dist', 0)
            # Senders of other links may be heard.
            _setting(namespace, 'ipv4/conf/all/rp_filter', 0)
            _setting(namespace, f'ipv4/conf/{inside}/rp_filter', 0)
        for namespace, netdev, address in [
                (self.senders, 'up0', _UP6), (self.members, 'down0', _DOWN6)]:
            namespace.run('ip', 'addr', 'add', f'{address}/64', 'dev', netdev,
                          'nodad')
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.upstream = groups.Sniffer(self.senders, 'up0')
        self.addCleanup(self.upstream.close)
        self.downstream = groups.Sniffer(self.members, 'down0')
        self.addCleanup(self.downstream.close)

    def wait_for_ipv6(self):
        """Until no kernel has to find out whether its address is its own."""
        for namespace, netdev in [(self.senders, 'up0'), (None, 'tosenders'),
                                  (self.members, 'down0'), (None, 'tomembers')]:
            l2fwd.wait_until(lambda: groups.has_ipv6(namespace, netdev),
                             f'an address of the link of {netdev}')

    def relay(self, *arguments, kind='packet'):
        """A relay that runs."""
        run = l2fwd.Run(['relay', f'{kind}:tosenders', f'{kind}:tomembers',
                         *arguments], self.folder.name, program=_PROGRAM)
        self.addCleanup(run.close)
        # It asks when it is there.
        self.downstream.wait(lambda frame: frame[14:16] == b'\x46\xc0' and
                             frame[38] == 0x11, 'a query')
        return run

    def member(self, group=_GROUP, sources=(), namespace=None, netdev='down0'):
        member = groups.Member(namespace or self.members, netdev, group, _PORT,
                               sources)
        self.addCleanup(member.close)
        return member

    def sender(self, source=_UP, ttl=5):
        sender = groups.Sender(self.senders, 'up0', source, ttl)
        self.addCleanup(sender.close)
        return sender

    def joined(self, group=_GROUP, sources=(), **kwargs):
        """A member whose wish has come to the senders' link."""
        member = self.member(group, sources, **kwargs)
        if sources:
            self.upstream.wait_for_record(('ALLOW', 'TO_IN'), group,
                                          sorted(sources))
        else:
            self.upstream.wait_for_record(_JOINS, group, [])
        return member

    def frames_to(self, group):
        """How many frames to the group have come to the members' link."""
        self.downstream.read()
        packed = groups.packed(group)
        return sum(packed in frame[30:54] for frame in self.downstream.frames)

    def stopped(self, run):
        outcome = run.stop()
        self.assertEqual((outcome.status, outcome.stderr), (0, ''))
        self.assertTrue(outcome.table['packets']['conserved'])
        self.assertEqual(outcome.table['mbufs']['held'], 0)
        return outcome

    def drops(self, outcome, stage):
        """By name, of all stages of that name."""
        found = {}
        for lcore in outcome.table['lcores']:
            for pipeline in lcore['pipelines']:
                for part in pipeline['stages']:
                    if part['name'] != stage:
                        continue
                    for name, count in part['drops'].items():
                        found[name] = found.get(name, 0) + count
        return found

    def assert_relayed(self, kind, group, mark, source):
        """All sizes, byte for byte, with one hop less; nothing before the join
        and nothing after the leave."""
        run = self.relay(kind=kind)
        sender = self.sender(source)
        other = self.joined(mark)
        sender.send(b'early', group, _PORT)
        sender.send(b'mark', mark, _PORT)
        self.assertEqual(other.receive(), (source, 4, b'mark'))
        self.assertEqual(self.frames_to(group), 0)
        member = self.joined(group)
        for size in [0, 1, 100, 1400, 9000, 60000]:
            sender.send(_payload(size), group, _PORT)
            self.assertEqual(member.receive(), (source, 4, _payload(size)))
        member.leave()
        self.upstream.wait_for_record(_LEAVES, group, [])
        self.downstream.read()
        self.downstream.frames.clear()
        sender.send(b'late', group, _PORT)
        sender.send(b'mark', mark, _PORT)
        self.assertEqual(other.receive(), (source, 4, b'mark'))
        self.assertEqual(self.frames_to(group), 0)
        outcome = self.stopped(run)
        # It leaves what is left.
        self.upstream.wait_for_record(_LEAVES, mark, [])
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
        self.assert_relayed('packet', _GROUP, _MARK, _UP)

    def test_ipv6_over_packet(self):
        self.wait_for_ipv6()
        self.assert_relayed('packet', _GROUP6, _MARK6, _UP6)

    def test_ipv4_over_xdp(self):
        self.assert_relayed('xdp', _GROUP, _MARK, _UP)

    def test_ipv6_over_xdp(self):
        self.wait_for_ipv6()
        self.assert_relayed('xdp', _GROUP6, _MARK6, _UP6)

    def test_members_of_version_2(self):
        _setting(self.members, 'ipv4/conf/down0/force_igmp_version', 2)
        self.assert_relayed('packet', _GROUP, _MARK, _UP)

    def test_sources_are_wanted_upstream_and_no_others_relayed(self):
        self.senders.run('ip', 'addr', 'add', '192.0.2.3/24', 'dev', 'up0')
        run = self.relay()
        member = self.joined(_GROUP, ['192.0.2.3'])
        everybody = self.joined(_MARK)
        self.sender(_UP).send(b'not wanted', _GROUP, _PORT)
        self.sender('192.0.2.3').send(b'wanted', _GROUP, _PORT)
        self.assertEqual(member.receive(), ('192.0.2.3', 4, b'wanted'))
        self.assertEqual(self.frames_to(_GROUP), 1)
        # Another source of the same group.
        second = self.joined(_GROUP, [_UP])
        self.sender(_UP).send(b'wanted now', _GROUP, _PORT)
        self.assertEqual(second.receive(), (_UP, 4, b'wanted now'))
        everybody.close()
        outcome = self.stopped(run)
        self.assertEqual(self.drops(outcome, 'igmp-host')['source not wanted'],
                         1)

    def test_ipv6_sources(self):
        self.wait_for_ipv6()
        run = self.relay()
        member = self.joined('ff3e::8000:7', [_UP6])
        sender = self.sender(_UP6)
        sender.send(b'wanted', 'ff3e::8000:7', _PORT)
        self.assertEqual(member.receive(), (_UP6, 4, b'wanted'))
        self.stopped(run)

    def test_what_has_to_stay_on_its_link_stays(self):
        run = self.relay('--static=233.252.0.9')
        self.upstream.wait_for_record(_JOINS, _MARK, [])
        mark = self.member(_MARK)
        local = self.member('224.0.0.251')
        one_hop = self.joined(_GROUP)
        self.sender().send(b'of the link', '224.0.0.251', _PORT)
        self.sender(ttl=1).send(b'one hop', _GROUP, _PORT)
        self.sender().send(b'not joined', _OTHER, _PORT)
        self.sender().send(b'mark', _MARK, _PORT)
        self.assertEqual(mark.receive(), (_UP, 4, b'mark'))
        for group in (_GROUP, _OTHER, '224.0.0.251'):
            self.assertEqual(self.frames_to(group), 0, group)
        # Nobody upstream was asked for a group of the link (RFC 5771 §4).
        for frame in self.upstream.frames:
            for record in groups.records_of(frame):
                self.assertNotEqual(record.group, '224.0.0.251')
        for member in (local, one_hop):
            member.close()
        outcome = self.stopped(run)
        self.assertEqual(self.drops(outcome, 'relay')['no hops left'], 1)
        self.assertGreater(
            outcome.table['relay']['changes_of_link_groups'], 0)

    def test_static_groups_need_no_member(self):
        run = self.relay(f'--static={_GROUP}')
        self.upstream.wait_for_record(_JOINS, _GROUP, [])
        self.sender().send(b'to all', _GROUP, _PORT)
        packed = groups.packed(_GROUP)
        self.downstream.wait(lambda frame: frame[30:34] == packed,
                             'a datagram')
        outcome = self.stopped(run)
        self.upstream.wait_for_record(_LEAVES, _GROUP, [])
        self.assertTrue(outcome.table['relay']['groups'][0]['static'])

    def test_only_groups_that_may_be_are_relayed(self):
        run = self.relay('--group=233.252.0.8/31')
        refused = self.member(_GROUP)
        allowed = self.joined(_MARK)
        self.sender().send(b'refused', _GROUP, _PORT)
        self.sender().send(b'mark', _MARK, _PORT)
        self.assertEqual(allowed.receive(), (_UP, 4, b'mark'))
        self.assertEqual(self.frames_to(_GROUP), 0)
        refused.close()
        outcome = self.stopped(run)
        self.assertGreater(outcome.table['relay']['changes_not_allowed'], 0)

    def test_both_ways(self):
        run = self.relay('--both_ways')
        with_sender = groups.Sender(self.members, 'down0', _DOWN, 3)
        self.addCleanup(with_sender.close)
        packed = groups.packed(_GROUP)
        with_sender.send(b'to the senders', _GROUP, _PORT)
        frame = self.upstream.wait(lambda frame: frame[30:34] == packed,
                                   'a datagram')
        self.assertEqual((frame[22], frame[42:56]), (2, b'to the senders'))
        outcome = self.stopped(run)
        self.assertEqual(outcome.table['relay']['groups'][0]['packets_up'], 1)

    def test_one_way_unless_told_otherwise(self):
        run = self.relay()
        member = self.joined(_MARK)
        back = groups.Sender(self.members, 'down0', _DOWN, 3)
        self.addCleanup(back.close)
        back.send(b'not upstream', _GROUP, _PORT)
        self.sender().send(b'mark', _MARK, _PORT)
        member.receive()
        outcome = self.stopped(run)
        self.assertEqual(
            self.drops(outcome, 'relay')['not relayed from this port'], 1)
        self.upstream.read()
        packed = groups.packed(_GROUP)
        self.assertFalse(any(frame[30:34] == packed
                             for frame in self.upstream.frames))


class FlagsTest(unittest.TestCase):

    def run_it(self, *arguments):
        return subprocess.run([_PROGRAM, 'relay', *arguments], text=True,
                              stdin=subprocess.DEVNULL, capture_output=True,
                              check=False, timeout=60)

    def test_wrong_flags_are_named(self):
        good = ['null:', 'null:,mtu=1400', '--ip_out=192.0.2.1',
                '--duration=100ms']
        for flag, says in [
                ('--group=192.0.2.1', '--group: want multicast groups'),
                ('--group=224.0.0.5', 'is a group of the link'),
                ('--group=239.0.0.0/33', 'a prefix of 4 to 32 bits'),
                ('--group=ff3e::/16', 'say one: --ip_out=fe80::1'),
                ('--static=ff02::1', 'is a group of the link'),
                ('--static=239.1.2.3,', 'got nothing'),
                ('--ip_out=2001:db8::1', '--ip_out: want an address of null:'),
                ('--ip_in=nowhere', '--ip_in: want an address of null:'),
                ('--ip_out=', 'say one: --ip_out=192.0.2.1 or fe80::1'),
                ('--max_groups=0', '--max_groups: want 1 to 65536, got 0'),
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
