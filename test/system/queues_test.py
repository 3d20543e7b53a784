#!/usr/bin/env python3
"""l2fwd with several queues a port: frames of many flows spread over them, each
flow in order, the fragments of a datagram together, nothing lost."""

import collections
import os
import re
import struct
import tempfile
import unittest

import captures
import flows
import l2fwd
import script_main
import table


class QueuesTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory(dir=os.environ.get('TEST_TMPDIR'))
        self.addCleanup(folder.cleanup)
        self.input = os.path.join(folder.name, 'in.pcap')
        self.output = os.path.join(folder.name, 'out.pcap')

    def assert_ended_well(self, ended, failures=0):
        """Nothing was said but of this many queues that failed."""
        # On a small machine pipelines share lcores, which is said.
        said = [line for line in ended.stderr.splitlines()
                if 'pipelines take turns' not in line]
        failed = [line for line in said if re.search(r': rx\d failed \(', line)]
        self.assertEqual((ended.status, len(failed)), (0, failures), said)
        self.assertEqual(said, failed)
        self.assertEqual(table.unbalanced(ended.table), [])

    def forward(self, frames, queues, receive='', failures=0):
        """Forwards `frames`; the two ports of the table and what came out."""
        captures.write_pcap(self.input, frames)
        ended = l2fwd.outcome(f'pcap:{self.input}{receive}',
                              f'pcap:,out={self.output}',
                              f'--queues={queues}')
        self.assert_ended_well(ended, failures)
        return ended.table['ports'], captures.read_pcap(self.output)

    def packets(self, port, direction):
        """Of each queue of a direction."""
        return [queue['packets'] for queue in port['queues']
                if queue['name'].startswith(direction)]

    def test_spreads_flows_and_keeps_each_in_order(self):
        frames = flows.many_flows()
        for queues in (1, 2, 3, 4, 8):
            with self.subTest(queues=queues):
                (into, out), came = self.forward(frames, queues)
                self.assertEqual(collections.Counter(came),
                                 collections.Counter(frames))
                for numbers in flows.numbers_by_flow(came).values():
                    self.assertEqual(numbers, list(range(flows.ROUNDS)))
                received = self.packets(into, 'rx')
                self.assertEqual(len(received), queues)
                self.assertEqual(sum(received), len(frames))
                self.assertGreater(min(received), 0)
                # Worker i owns both.
                self.assertEqual(self.packets(out, 'tx'), received)
                self.assertEqual(into['rx_method'],
                                 'rss' if queues > 1 else 'single_queue')
                self.assertEqual(into['rx_queues_wanted'], queues)
                self.assertEqual(into['rx_queues'], queues)

    def test_gives_the_fragments_of_datagrams_to_one_queue(self):
        used = set()
        for flow in range(6):
            body = struct.pack('>HHHH', flow, 53, 4000, 0) + bytes(3992)
            # Fragments of ten datagrams, the last ones first.
            frames = [flows.packet(flow, body[at:at + 800],
                              (0x2000 if at + 800 < len(body) else 0) | at // 8,
                              identification)
                      for identification in range(10)
                      for at in reversed(range(0, len(body), 800))]
            (into, _), came = self.forward(frames, 4)
            self.assertEqual(came, frames)
            received = self.packets(into, 'rx')
            self.assertEqual(max(received), len(frames), received)
            used.add(received.index(len(frames)))
        self.assertGreater(len(used), 1)

    def test_recovers_one_queue_while_the_others_go_on(self):
        frames = flows.many_flows()
        (into, _), came = self.forward(frames, 4, ',fault=recv_error@500', 1)
        device = into['device_counters']
        self.assertEqual(device['rx_errors'], 1)
        self.assertEqual(len(came), len(frames) - 1 - device['rx_not_ready'])
        queues = [queue for queue in into['queues']
                  if queue['name'].startswith('rx')]
        self.assertEqual(sorted(queue['errors'] for queue in queues),
                         [0, 0, 0, 1])
        self.assertEqual(sum(queue['recoveries'] for queue in queues), 1)
        for numbers in flows.numbers_by_flow(came).values():
            self.assertEqual(numbers, sorted(numbers))

    def test_recovers_all_queues(self):
        frames = flows.many_flows()
        (into, _), came = self.forward(frames, 4, ',fault=qp_error@500', 4)
        device = into['device_counters']
        self.assertEqual(len(came), len(frames) - device['rx_not_ready'] -
                         device['rx_errors'])
        for queue in into['queues']:
            if queue['name'].startswith('rx'):
                self.assertEqual((queue['errors'], queue['recoveries']), (1, 1))

    def test_carries_a_wire_between_processes(self):
        """source (1 queue) -> middle (4 queues) -> sink (3 queues)"""
        captures.write_pcap(self.input, flows.many_flows())
        left, right = (f'wire:{os.getpid()}-{name}' for name in 'lr')

        def start(*arguments):
            run = self.enterContext(l2fwd.started('--stats=100ms', *arguments))
            run.wait_for_output('\n')
            return run

        sink = start(f'{right},end=b', f'pcap:,out={self.output}', '--queues=3')
        middle = start(f'{left},end=b', f'{right},end=a', '--queues=4')
        source = start(f'pcap:{self.input},loop=on', f'{left},end=a')
        l2fwd.wait_until(
            lambda: os.path.getsize(self.output) > 10_000_000 or
            not all(run.running() for run in (sink, middle, source)), 'frames')
        # Who sends ends after whom it sends to, and has counted what is left.
        ended = {run: run.stop() for run in (sink, middle, source)}
        for each in ended.values():
            self.assert_ended_well(each)
        counters = [ended[run].table['ports'][port]['device_counters']
                    for run, port in ((source, 1), (middle, 0), (middle, 1),
                                      (sink, 0))]
        for sent, received in (counters[0:2], counters[2:4]):
            self.assertEqual(sent['tx_frames'], received['rx_frames'] +
                             sent['tx_no_peer'] + sent['tx_peer_gone'])
        for run, queues in ((middle, 4), (sink, 3)):
            received = self.packets(ended[run].table['ports'][0], 'rx')
            self.assertEqual(len(received), queues)
            self.assertGreater(min(received), 0)
        # From the first frame to the last, no flow lacks one in between.
        came = captures.read_pcap(self.output)
        for numbers in flows.numbers_by_flow(came).values():
            self.assertEqual(numbers, [at % flows.ROUNDS
                                       for at in range(len(numbers))])

    def test_says_how_frames_come_to_queues(self):
        with l2fwd.started('null:,flows=64', 'null:', '--queues=2',
                           '--stats=100ms') as run:
            # A line of rates.
            run.wait_for_output('   rx1 tx1 ')
            ended = run.stop()
        self.assert_ended_well(ended)
        many, one = (self.packets(port, 'rx') for port in ended.table['ports'])
        self.assertGreater(min(many), 0)
        self.assertEqual(min(one), 0)
        said = ('2 RX queues by RSS over addresses and ports, 2 TX queues')
        # Of each port, at the start and in the table.
        self.assertEqual(ended.stdout.count(said), 4, ended.stdout)
        self.assertIn('null:,flows=64 rx1 -> null: tx1', ended.stdout)

    def test_refuses_ports_that_cannot_spread_frames(self):
        ended = l2fwd.outcome('null:', 'null:,rss=off', '--queues=2')
        self.assertEqual(ended.status, 1)
        self.assertRegex(
            ended.stderr,
            r'^l2fwd: null:,rss=off: 2 RX queues are wanted, and weir_?\w+ '
            r'cannot spread frames over several \(RSS of raw packet queue '
            r'pairs\); use 1\n$')

    def test_needs_no_hash_for_one_queue(self):
        ended = l2fwd.outcome('null:,rss=off', 'null:,rss=off', '--duration=1')
        self.assert_ended_well(ended)

    def test_refuses_numbers_of_queues_that_no_port_has(self):
        for queues in ('0', '129'):
            ended = l2fwd.outcome('null:', 'null:', f'--queues={queues}')
            self.assertEqual(ended.status, 1)
            self.assertEqual(ended.stderr, 'l2fwd: null:: want from 1 to 128 '
                             f'queues a direction, got {queues}\n')


if __name__ == '__main__':
    script_main.main()
