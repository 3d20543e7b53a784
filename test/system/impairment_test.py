#!/usr/bin/env python3
"""Captures go through l2fwd over bad links: every frame is accounted for, and
the same seed does the same to the same frames."""

import os
import tempfile
import unittest

import captures
import l2fwd
import script_main
import table

_FRAMES = 20_000
_BAD = 'loss=2%,dup=3%,reorder=5%,corrupt=1%'


class ImpairmentTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.input = os.path.join(folder.name, 'in.pcap')
        self.frames = captures.many(_FRAMES)
        captures.write_pcap(self.input, self.frames)

    def forward(self, receive, send):
        """The frames that come out, and the counters of the two devices."""
        output = os.path.join(self.folder, 'out.pcap')
        ended = l2fwd.outcome(f'pcap:{self.input},{receive}',
                              f'pcap:,out={output},{send}')
        self.assertEqual((ended.status, ended.stderr), (0, ''), ended)
        self.assertEqual(table.unbalanced(ended.table), [])
        into, out = (port['device_counters'] for port in ended.table['ports'])
        for device in (into, out):
            self.assertEqual(
                device['rx_frames'],
                sum(device[name] for name in (
                    'rx_delivered', 'unmatched', 'out_of_buffer', 'rx_oversize',
                    'rx_not_ready', 'rx_errors', 'rx_cq_overrun')))
        return captures.read_pcap(output), into, out

    def test_accounts_for_every_frame(self):
        frames, into, out = self.forward(_BAD, _BAD)
        self.assertEqual(into['rx_frames'], _FRAMES - into['rx_lost'] +
                         into['rx_duplicated'])
        self.assertEqual(out['tx_frames'], into['rx_frames'])
        self.assertEqual(len(frames), out['tx_frames'] - out['tx_lost'] +
                         out['tx_duplicated'])
        for device, way in ((into, 'rx'), (out, 'tx')):
            for what, share in (('lost', .02), ('duplicated', .03),
                                ('reordered', .05), ('corrupted', .01)):
                self.assertAlmostEqual(device[f'{way}_{what}'],
                                       share * _FRAMES, delta=.3 * share *
                                       _FRAMES, msg=f'{way}_{what}')
        unchanged = set(frames) & set(self.frames)
        self.assertGreater(len(unchanged), .93 * _FRAMES)

    def test_does_the_same_with_the_same_seed(self):
        runs = [self.forward(f'{_BAD},seed={seed}', f'{_BAD},seed={seed}')[0]
                for seed in (5, 5, 6)]
        self.assertEqual(runs[0], runs[1])
        self.assertNotEqual(runs[0], runs[2])

    def test_loses_the_same_frames_however_slow_the_link(self):
        fast = self.forward('loss=5%', 'loss=0')[0]
        slow = self.forward('loss=5%,delay=20ms,jitter=20ms', 'rate=1Gbit')[0]
        self.assertEqual(fast, slow)
        self.assertTrue(set(fast) < set(self.frames))

    def test_paces_a_capture(self):
        bits = 8 * sum(map(len, self.frames))
        for way in ('rx', 'tx'):
            with self.subTest(way=way):
                output = os.path.join(self.folder, 'paced.pcap')
                rate = f'rate={bits}bit,impair={way}'
                ended = l2fwd.outcome(f'pcap:{self.input},{rate}',
                                      f'pcap:,out={output},{rate}')
                self.assertEqual((ended.status, ended.stderr), (0, ''), ended)
                self.assertEqual(captures.read_pcap(output), self.frames)
                # A second, less what the queue holds at the end.
                self.assertGreater(ended.table['seconds'], .95)

    def test_refuses_bad_values(self):
        for options, reason in [
                ('loss=120%', 'loss=120%: want a probability from 0 to 1, or '
                              '0% to 100%'),
                ('delay=5', 'delay=5: want a time from 0ns to 10s, as in 5ms'),
                ('rate=fast', 'rate=fast: want 1kbit to 1000Gbit (a second), '
                              'as in 10Mbit'),
                ('impair=up', 'impair=up: want rx, tx or both'),
                ('delay=1ms,jitter=2ms',
                 'jitter=2ms: want a time no longer than delay')]:
            with self.subTest(options=options):
                ended = l2fwd.outcome(f'null:,{options}', 'null:')
                self.assertEqual(ended.status, 1)
                self.assertEqual(ended.stderr.count('\n'), 1, ended.stderr)
                self.assertIn(reason, ended.stderr)


if __name__ == '__main__':
    script_main.main()
