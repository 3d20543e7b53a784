#!/usr/bin/env python3
"""l2fwd with workers: packets of many flows through rings and back, each flow in
order, nothing lost."""

import collections
import os
import tempfile
import unittest

import captures
import flows
import l2fwd
import script_main
import table


class WorkersTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory(dir=os.environ.get('TEST_TMPDIR'))
        self.addCleanup(folder.cleanup)
        self.input = os.path.join(folder.name, 'in.pcap')
        self.output = os.path.join(folder.name, 'out.pcap')

    def forward(self, frames, *flags):
        """Forwards `frames` once; the table, and what came out."""
        captures.write_pcap(self.input, frames)
        ended = l2fwd.outcome(f'pcap:{self.input}', f'pcap:,out={self.output}',
                              *flags)
        said = [line for line in ended.stderr.splitlines()
                if 'pipelines take turns' not in line]
        self.assertEqual((ended.status, said), (0, []))
        self.assertEqual(table.unbalanced(ended.table), [])
        packets = ended.table['packets']
        self.assertEqual((packets['received'], packets['sent']),
                         (len(frames), len(frames)))
        self.assertEqual(ended.table['mbufs']['rings'], 0)
        return ended.table, captures.read_pcap(self.output)

    def received_by_workers(self, ended):
        """Packets of each worker that has to do with the capture."""
        return [pipeline['received'] for lcore in ended['lcores']
                for pipeline in lcore['pipelines']
                if pipeline['from'].startswith(f'pcap:{self.input} worker')]

    def test_keeps_flows_in_order_however_they_are_dealt(self):
        frames = flows.many_flows()
        for dispatch in ('hash', 'flow', 'maglev'):
            for workers in (1, 2, 3, 8):
                with self.subTest(dispatch=dispatch, workers=workers):
                    ended, came = self.forward(frames, f'--workers={workers}',
                                               f'--dispatch={dispatch}')
                    self.assertEqual(collections.Counter(came),
                                     collections.Counter(frames))
                    for numbers in flows.numbers_by_flow(came).values():
                        self.assertEqual(numbers, list(range(flows.ROUNDS)))
                    received = self.received_by_workers(ended)
                    self.assertEqual(len(received), workers)
                    self.assertEqual(sum(received), len(frames))
                    self.assertGreater(min(received), 0)

    def test_deals_packets_in_turn(self):
        ended, came = self.forward(flows.many_flows(), '--workers=4',
                                   '--dispatch=turn')
        received = self.received_by_workers(ended)
        self.assertLessEqual(max(received) - min(received), 1)
        self.assertEqual(len(came), sum(received))

    def test_waits_for_rings_that_are_full(self):
        frames = flows.many_flows() * 5
        ended, came = self.forward(frames, '--workers=3', '--ring=2')
        self.assertEqual(collections.Counter(came), collections.Counter(frames))
        for ring in ended['rings']:
            self.assertEqual(ring['capacity'], 2)
            self.assertLessEqual(ring['high_water'], 2)
        self.assertEqual(max(ring['high_water'] for ring in ended['rings']), 2)

    def test_forwards_what_is_malformed(self):
        frames = [frame[:length] for frame in flows.many_flows()[:50]
                  for length in (14, 20, 33, 40, 60)]
        _, came = self.forward(frames, '--workers=2')
        # Frames that are shorter than Ethernet's are padded where they are sent.
        self.assertEqual(len(came), len(frames))

    def test_names_every_ring(self):
        ended = l2fwd.outcome('null:', 'null:', '--workers=2', '--duration=0.5')
        self.assertEqual(ended.status, 0, ended)
        names = [ring['name'] for ring in ended.table['rings']]
        self.assertEqual(len(names), 6)
        self.assertEqual(len(set(names)), 6, names)

    def test_refuses_what_cannot_be(self):
        for flags, words in [
                (['--workers=65'], '--workers: want 0 to 64, got 65'),
                (['--workers=2', '--ring=1000'],
                 '--ring: want a power of two from 2 to 65536, got 1000'),
                (['--dispatch=luck'],
                 '--dispatch: want hash, flow, maglev or turn, got luck'),
                (['--workers=2', '--queues=2'],
                 '--workers: want --queues=1 with it')]:
            ended = l2fwd.outcome('null:', 'null:', *flags)
            self.assertEqual(ended.status, 1, flags)
            self.assertEqual(ended.stderr, f'l2fwd: {words}\n')


if __name__ == '__main__':
    script_main.main()
