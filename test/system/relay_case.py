"""A relay between two links, each with a kernel in a namespace of its own.

    up0 (192.0.2.2) ==veth== tosenders  mcast relay  tomembers ==veth== down0
"""

import os
import random
import tempfile
import unittest

import group_peers
import l2fwd
import netns

PROGRAM = os.path.abspath('apps/mcast/mcast')
GROUP, MARK = '233.252.0.5', '233.252.0.9'
GROUP6, MARK6 = 'ff3e::8000:5', 'ff3e::8000:9'
PORT = 5001
UP, DOWN = '192.0.2.2', '198.51.100.2'
UP6, DOWN6 = '2001:db8:1::2', '2001:db8:2::2'
# Whoever says that a group is wanted from now on, in whatever version.
JOINS = ('TO_EX', 'IS_EX')
LEAVES = ('TO_IN',)


def payload(size, seed=0):
    return random.Random(size * 1000 + seed).randbytes(size)


def setting(namespace, path, value):
    namespace.run('sh', '-c', f'echo {value} > /proc/sys/net/{path}')


class RelayCase(unittest.TestCase):

    def setUp(self):
        netns.require()
        self.senders = netns.Namespace()
        self.addCleanup(self.senders.close)
        self.members = netns.Namespace()
        self.addCleanup(self.members.close)
        for inside, outside, namespace, own, other in [
                ('up0', 'tosenders', self.senders, '192.0.2.1/24', UP),
                ('down0', 'tomembers', self.members, '198.51.100.1/24', DOWN)]:
            netns.link(inside, outside, namespace)
            self.addCleanup(self.remove, outside)
            netns.run('ip', 'addr', 'add', own, 'dev', outside)
            namespace.run('ip', 'addr', 'add', f'{other}/24', 'dev', inside)
            # So that fragments of one datagram are not taken for too many.
            setting(namespace, 'ipv4/ipfrag_max_dist', 0)
            # Senders of other links may be heard.
            setting(namespace, 'ipv4/conf/all/rp_filter', 0)
            setting(namespace, f'ipv4/conf/{inside}/rp_filter', 0)
        for namespace, netdev, address in [
                (self.senders, 'up0', UP6), (self.members, 'down0', DOWN6)]:
            namespace.run('ip', 'addr', 'add', f'{address}/64', 'dev', netdev,
                          'nodad')
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.upstream = group_peers.Sniffer(self.senders, 'up0')
        self.addCleanup(self.upstream.close)
        self.downstream = group_peers.Sniffer(self.members, 'down0')
        self.addCleanup(self.downstream.close)

    def remove(self, netdev):
        """Of the test's own namespace, if it is there."""
        if os.path.exists(f'/sys/class/net/{netdev}'):
            netns.run('ip', 'link', 'delete', netdev)

    def wait_for_ipv6(self):
        """Until no kernel has to find out whether its address is its own."""
        for namespace, netdev in [(self.senders, 'up0'), (None, 'tosenders'),
                                  (self.members, 'down0'), (None, 'tomembers')]:
            l2fwd.wait_until(lambda: group_peers.has_ipv6(namespace, netdev),
                             f'an address of the link of {netdev}')

    def relay(self, *arguments, kind='packet'):
        """A relay that runs."""
        run = l2fwd.Run(['relay', f'{kind}:tosenders', f'{kind}:tomembers',
                         *arguments], self.folder.name, program=PROGRAM)
        self.addCleanup(run.close)
        # It asks when it is there.
        self.downstream.wait(lambda frame: frame[14:16] == b'\x46\xc0' and
                             frame[38] == 0x11, 'a query')
        return run

    def member(self, group=GROUP, sources=(), namespace=None, netdev='down0'):
        member = group_peers.Member(namespace or self.members, netdev, group,
                                    PORT, sources)
        self.addCleanup(member.close)
        return member

    def sender(self, source=UP, ttl=5):
        sender = group_peers.Sender(self.senders, 'up0', source, ttl)
        self.addCleanup(sender.close)
        return sender

    def joined(self, group=GROUP, sources=(), **kwargs):
        """A member whose wish has come to the senders' link."""
        member = self.member(group, sources, **kwargs)
        if sources:
            self.upstream.wait_for_record(('ALLOW', 'TO_IN'), group,
                                          sorted(sources))
        else:
            self.upstream.wait_for_record(JOINS, group, [])
        return member

    def frames_to(self, group):
        """How many frames to the group have come to the members' link."""
        self.downstream.read()
        packed = group_peers.packed(group)
        return sum(packed in frame[30:54] for frame in self.downstream.all)

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
