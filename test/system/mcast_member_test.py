#!/usr/bin/env python3
"""mcast recv as a member of groups: what it tells routers and switches, when,
and that those of Linux believe it.

    the test, as a router ==veth== mcast recv
    kernel socket == bridge with snooping and querier == mcast recv
"""

import glob
import json
import os
import signal
import subprocess
import sys
import time

import groups
import mcast
import netns
import script_main
from mcast import (ALLOW, GROUP, GROUP6, IS_EXCLUDE, IS_INCLUDE, LINK_IP,
                   TO_EXCLUDE, TO_INCLUDE)

_CONTROL = os.path.abspath('apps/control/control')
_BRIDGE = '/usr/sbin/bridge'
_PORTS = ['packet:tokernel', 'xdp:tokernel']
# Between two reports of one change, at most: RFC 3376 §8.11, RFC 3810 §9.11, and
# for the old versions RFC 2236 §8.10, RFC 2710 §7.10; what the machine may add
# when it is busy.
_UNSOLICITED_SECONDS = {kind: 10 if kind in (0x16, 131) else 1
                        for kind in [TO_EXCLUDE, TO_INCLUDE, ALLOW, 0x16, 0x17,
                                     131, 132]}
_SLACK_SECONDS = 2


class MessagesTest(mcast.KernelCase):

    def assert_said(self, source, group, kind, sources=(), times=2):
        """`times` records with robustness in between, and no more of them."""
        said = groups.wait_until(
            lambda: len(found := [
                each for each in self.sniffer.records(source, group)
                if each[1:] == (kind, sources)]) >= times and found,
            f'{times} records {kind} of {group}')
        gaps = [later[0] - sooner[0] for sooner, later in zip(said, said[1:])]
        for gap in gaps:
            self.assertLessEqual(gap,
                                 _UNSOLICITED_SECONDS[kind] + _SLACK_SECONDS)
        return said

    def test_igmp3_joins_and_leaves(self):
        for port in _PORTS:
            receiver = self.joined(port)
            self.assert_said(mcast.IP, GROUP, TO_EXCLUDE)
            code, _ = receiver.stop()
            self.assertEqual(code, 0)
            self.assert_said(mcast.IP, GROUP, TO_INCLUDE)
            for message in self.sniffer.messages(mcast.IP):
                self.assertEqual(
                    (message.mac, message.destination, message.hops,
                     message.alert, message.type),
                    ('01:00:5e:00:00:16', '224.0.0.22', 1, True, 0x22))
            self.sniffer = groups.Sniffer(self, self.kernel, 'veth0')

    def test_igmp3_says_sources(self):
        self.joined('packet:tokernel', '--source=192.0.2.9,192.0.2.7',
                    kind=ALLOW)
        self.assert_said(mcast.IP, GROUP, ALLOW,
                         sources=('192.0.2.9', '192.0.2.7'))

    def test_igmp2_joins_and_leaves(self):
        receiver = self.receiver('packet:tokernel', f'--group={GROUP}',
                                 '--igmp_version=2')
        self.assert_said(mcast.IP, GROUP, 0x16)
        receiver.stop()
        self.assert_said(mcast.IP, GROUP, 0x17, times=1)
        # RFC 2236 §9: a report to the group, a leave to the routers.
        self.assertEqual(
            {(each.type, each.mac, each.destination, each.hops, each.alert)
             for each in self.sniffer.messages(mcast.IP)},
            {(0x16, '01:00:5e:7c:00:05', GROUP, 1, True),
             (0x17, '01:00:5e:00:00:02', '224.0.0.2', 1, True)})

    def test_mld2_joins_and_leaves(self):
        receiver = self.joined('packet:tokernel', group=GROUP6, ip=LINK_IP)
        self.assert_said(LINK_IP, GROUP6, TO_EXCLUDE)
        receiver.stop()
        self.assert_said(LINK_IP, GROUP6, TO_INCLUDE)
        for message in self.sniffer.messages(LINK_IP):
            self.assertEqual((message.mac, message.destination, message.hops,
                              message.alert, message.type),
                             ('33:33:00:00:00:16', 'ff02::16', 1, True, 143))

    def test_mld1_joins_and_leaves(self):
        receiver = self.receiver('packet:tokernel', f'--group={GROUP6}',
                                 '--mld_version=1', ip=LINK_IP)
        self.assert_said(LINK_IP, GROUP6, 131)
        receiver.stop()
        self.assert_said(LINK_IP, GROUP6, 132, times=1)
        self.assertEqual({(each.type, each.destination)
                          for each in self.sniffer.messages(LINK_IP)},
                         {(131, GROUP6), (132, 'ff02::2')})

    def test_messages_have_the_tag_of_the_vlan(self):
        self.joined('packet:tokernel', '--vlan=7')
        said = [frame for _, frame in self.sniffer.frames()
                if groups.read_igmp(0, frame)]
        self.assertEqual({frame[12:16].hex() for frame in said}, {'81000007'})

    def test_a_signal_while_it_leaves_does_not_keep_it(self):
        receiver = self.joined('packet:tokernel')
        for _ in range(3):
            receiver.process.send_signal(signal.SIGTERM)
        self.assertEqual(receiver.wait()[0], 0)
        self.assert_said(mcast.IP, GROUP, TO_INCLUDE)


class QueryTest(mcast.KernelCase):

    def ask(self, query):
        """When `query` had been sent."""
        before = len(self.sniffer.frames('out'))
        self.inject(query)
        groups.wait_until(
            lambda: [when for when, frame in self.sniffer.frames('out')[before:]
                     if frame == query], 'the query')
        return self.sniffer.frames('out')[-1][0]

    def assert_answered(self, source, group, kind, query, seconds):
        asked = self.ask(query)
        answered = self.sniffer.wait_record(source, group, kind, asked - 0.5)
        self.assertLessEqual(answered - asked, seconds + _SLACK_SECONDS)

    def test_general_and_group_queries_of_igmp3(self):
        for port in _PORTS:
            receiver = self.joined(port)
            self.assert_answered(mcast.IP, GROUP, IS_EXCLUDE,
                                 groups.igmp_query(), 1)
            self.assert_answered(mcast.IP, GROUP, IS_EXCLUDE,
                                 groups.igmp_query(GROUP), 1)
            receiver.stop()
            self.sniffer = groups.Sniffer(self, self.kernel, 'veth0')

    def test_queries_about_sources(self):
        self.joined('packet:tokernel', '--source=192.0.2.9', kind=ALLOW)
        self.assert_answered(
            mcast.IP, GROUP, IS_INCLUDE,
            groups.igmp_query(GROUP, sources=['192.0.2.9', '192.0.2.8']), 1)
        said = self.sniffer.records(mcast.IP, GROUP)[-1]
        self.assertEqual(said[1:], (IS_INCLUDE, ('192.0.2.9',)))

    def test_a_query_about_another_group_of_the_mac_is_not_answered(self):
        other = '239.124.0.5'
        self.joined('packet:tokernel')
        self.ask(groups.igmp_query(other, max_response=1))
        # What is asked later is answered, that never.
        self.assert_answered(mcast.IP, GROUP, IS_EXCLUDE,
                             groups.igmp_query(GROUP, max_response=5), 0.5)
        self.assertEqual(self.sniffer.records(mcast.IP, other), [])

    def test_a_router_of_version_2_is_answered_in_it(self):
        self.joined('packet:tokernel')
        self.assert_answered(mcast.IP, GROUP, 0x16,
                             groups.igmp_query(version=2), 1)

    def test_queries_of_mld2(self):
        for port in _PORTS:
            receiver = self.joined(port, group=GROUP6, ip=LINK_IP)
            self.assert_answered(LINK_IP, GROUP6, IS_EXCLUDE,
                                 groups.mld_query(), 1)
            self.assert_answered(LINK_IP, GROUP6, IS_EXCLUDE,
                                 groups.mld_query(GROUP6), 1)
            receiver.stop()
            self.sniffer = groups.Sniffer(self, self.kernel, 'veth0')


class LinkTest(mcast.KernelCase):

    def test_groups_are_said_again_when_the_link_comes_up(self):
        for port in _PORTS:
            receiver = self.joined(port)
            self.kernel.run('ip', 'link', 'set', 'veth0', 'down')
            groups.wait_until(lambda: 'link is down' in receiver.stderr(),
                              'the link to be down')
            went = time.monotonic()
            self.kernel.run('ip', 'link', 'set', 'veth0', 'up')
            self.sniffer.wait_record(mcast.IP, GROUP, TO_EXCLUDE, went)
            self.send(GROUP, b'12345')
            code, report = receiver.stop()
            self.assertEqual(code, 0)
            self.assertGreaterEqual(report['delivery']['refreshes'], 1)
            self.assertEqual(report['delivery']['bytes'], 5)


class ControlTest(mcast.KernelCase):

    def control(self, receiver, *words):
        # It may have joined and not be ready for this yet.
        name = f'/dev/shm/weir.{receiver.process.pid}.*.control'
        groups.wait_until(lambda: glob.glob(name), name)
        done = subprocess.run([_CONTROL, str(receiver.process.pid), '--json',
                               *words], text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        return json.loads(done.stdout) if done.stdout else done.stderr

    def test_groups_change_while_it_runs(self):
        other = '233.252.0.6'
        receiver = self.joined('packet:tokernel', '--count=2')
        port = 'packet:tokernel'
        answer = self.control(receiver, 'group', 'join', port, other,
                              '--sources=192.0.2.9')
        self.assertEqual((answer['ok'], answer['method']), (True, 'flow'))
        self.sniffer.wait_record(mcast.IP, other, ALLOW)
        listed = self.control(receiver, 'group', 'list', port)['groups']
        self.assertIn({'port': port, 'group': other, 'mac': '01:00:5e:7c:00:06',
                       'method': 'flow', 'members': 1, 'host': True,
                       'sources': ['192.0.2.9']}, listed)
        self.send(other, b'other', source='192.0.2.2')
        self.send(other, b'wanted', source='192.0.2.9')
        self.assertTrue(self.control(receiver, 'group', 'leave', port,
                                     GROUP)['ok'])
        self.sniffer.wait_record(mcast.IP, GROUP, TO_INCLUDE)
        self.send(GROUP, b'left')
        self.send(other, b'last', source='192.0.2.9')
        code, report = receiver.wait()
        self.assertEqual(code, 0)
        self.assertEqual([(each['group'], each['bytes'])
                          for each in report['groups']], [(other, 10)])
        # Nothing of the group that was left came any more.
        found = mcast.drops(report)
        self.assertEqual((found['source not wanted'],
                          found['group not joined']), (1, 0))

    def test_a_join_that_cannot_be_changes_nothing(self):
        receiver = self.joined('packet:tokernel')
        answer = self.control(receiver, 'group', 'join', 'packet:tokernel',
                              '233.252.0.6', '--sources=239.0.0.1')
        self.assertIn('is a group itself', str(answer))
        listed = self.control(receiver, 'group', 'list')['groups']
        self.assertEqual([each['group'] for each in listed if 'host' in each],
                         [GROUP])
        self.assertNotIn('233.252.0.6', str(listed))


class BridgeTest(mcast.KernelCase):
    """A bridge of Linux, with querier, in a third namespace; mcast and a kernel
    socket at two of its ports, somebody who wants nothing at a third."""

    def setUp(self):
        super().setUp()
        self.switch = netns.Namespace()
        self.addCleanup(self.switch.close)
        self.switch.run('ip', 'link', 'add', 'br0', 'type', 'bridge',
                        'mcast_snooping', '1', 'mcast_querier', '1',
                        'mcast_igmp_version', '3', 'mcast_mld_version', '2',
                        'forward_delay', '0')
        for number, name in enumerate(['member', 'sender', 'other']):
            netns.link(f'port{number}', name, self.switch)
            self.switch.run('ip', 'link', 'set', f'port{number}', 'master',
                            'br0')
        self.addCleanup(netns.run, 'ip', 'link', 'delete', 'member')
        self.addCleanup(netns.run, 'ip', 'link', 'delete', 'other')
        # The sender's end is the kernel's.
        self.kernel.adopt('sender')
        self.kernel.run('ip', 'addr', 'flush', 'dev', 'veth0')
        self.kernel.run('ip', 'addr', 'add', '192.0.2.2/24', 'dev', 'sender')
        self.kernel.run('ip', 'link', 'set', 'sender', 'up')
        self.switch.run('ip', 'link', 'set', 'br0', 'up')
        self.sniffer = groups.Sniffer(self, self.switch, 'port0')

    def members(self, group):
        """The ports of the bridge that `bridge mdb` shows for `group`."""
        shown = json.loads(self.switch.run(_BRIDGE, '-json', 'mdb', 'show'))
        return sorted({each['port'] for entry in shown
                       for each in entry['mdb'] if each['grp'] == group})

    def wait_members(self, group, *ports):
        groups.wait_until(lambda: self.members(group) == list(ports),
                          f'members of {group}: {ports}')

    def test_the_bridge_learns_who_is_a_member(self):
        for port in ['packet:member', 'xdp:member']:
            for group, ip in [(GROUP, mcast.IP), (GROUP6, LINK_IP)]:
                self.assertEqual(self.members(group), [])
                receiver = self.joined(port, group=group, ip=ip)
                self.wait_members(group, 'port0')
                receiver.stop()
                self.wait_members(group)

    def test_queries_of_the_bridge_are_answered(self):
        self.joined('packet:member')
        # The querier begins with some, 31 s apart; this asks for one now.
        asked = time.monotonic()
        self.switch.run('ip', 'link', 'set', 'br0', 'type', 'bridge',
                        'mcast_querier', '0')
        self.switch.run('ip', 'link', 'set', 'br0', 'type', 'bridge',
                        'mcast_querier', '1')
        self.sniffer.wait_record(mcast.IP, GROUP, IS_EXCLUDE, asked)
        self.wait_members(GROUP, 'port0')

    def test_datagrams_reach_members_only(self):
        other = groups.Sniffer(self, netns.HERE, 'other')
        receiver = self.joined('packet:member', '--count=3')
        self.wait_members(GROUP, 'port0')
        # A querier that is not yet sure of itself floods.
        groups.wait_until(lambda: self.flooding_ended(other), 'snooping')
        before = len(other.frames())
        self.send(GROUP, b'one', b'two', b'three', netdev='sender')
        code, _ = receiver.wait()
        self.assertEqual(code, 0)
        self.assertFalse([frame for _, frame in other.frames()[before:]
                          if frame[:6] == groups.group_mac(GROUP)])

    def flooding_ended(self, other):
        """Sends to a group without members, which snooping keeps to itself."""
        mark = os.urandom(8)
        probe = '233.252.0.99'
        self.send(probe, mark, netdev='sender')
        # Broadcast goes everywhere, behind the probe.
        self.kernel.run(
            sys.executable, '-c',
            'import socket, sys\n'
            'out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)\n'
            'out.bind(("sender", 0))\n'
            'out.send(bytes.fromhex("ffffffffffff02000000000288b5") + '
            'bytes.fromhex(sys.argv[1]).ljust(46, bytes(1)))', mark.hex())
        groups.wait_until(lambda: [1 for _, frame in other.frames()
                                   if frame[:6] == b'\xff' * 6 and
                                   mark in frame], 'the broadcast')
        return not [1 for _, frame in other.frames()
                    if frame[:6] == groups.group_mac(probe) and mark in frame]


if __name__ == '__main__':
    netns.enter()
    script_main.main()
