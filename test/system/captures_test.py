#!/usr/bin/env python3
"""Captures go through l2fwd byte for byte, in order, and none is lost."""

import os
import tempfile
import unittest

import captures
import l2fwd
import script_main
import table


class CapturesTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.input = os.path.join(folder.name, 'in.pcap')
        self.output = os.path.join(folder.name, 'out.pcap')
        self.folder = folder.name

    def assert_same_frames(self, got, want):
        """Like assertEqual, with a message a person can read."""
        self.assertEqual(len(got), len(want), 'number of frames')
        for number, (left, right) in enumerate(zip(got, want)):
            self.assertEqual(left.hex(), right.hex(), f'frame {number}')

    def assert_forwarded(self, frames, *flags):
        """The frames in self.input arrive in self.output, and the law holds."""
        ended = l2fwd.outcome(f'pcap:{self.input}', f'pcap:,out={self.output}',
                              *flags)
        self.assertEqual(ended.status, 0, ended)
        self.assertEqual(ended.stderr, '')
        self.assert_same_frames(captures.read_pcap(self.output), frames)
        self.assertEqual(table.unbalanced(ended.table), [])
        self.assertEqual(table.received(ended.table), len(frames))
        self.assertEqual(table.sent(ended.table), len(frames))

    def test_forwards_every_size(self):
        captures.write_pcap(self.input, captures.all_sizes())
        self.assert_forwarded(captures.all_sizes())

    def test_forwards_vlan_and_qinq(self):
        captures.write_pcap(self.input, captures.tagged())
        self.assert_forwarded(captures.tagged())

    def test_forwards_ipv6(self):
        captures.write_pcap(self.input, captures.version6())
        self.assert_forwarded(captures.version6())

    def test_forwards_fragments(self):
        captures.write_pcap(self.input, captures.fragments())
        self.assert_forwarded(captures.fragments())

    def test_keeps_runts_as_they_are(self):
        captures.write_pcap(self.input, captures.runts())
        self.assert_forwarded(captures.runts())

    def test_forwards_100_000_frames(self):
        frames = captures.many()
        captures.write_pcap(self.input, frames)
        self.assert_forwarded(frames)

    def test_forwards_an_empty_capture(self):
        captures.write_pcap(self.input, [])
        self.assert_forwarded([])

    def test_reads_pcap_of_both_byte_orders_and_resolutions(self):
        frames = captures.runts() + captures.all_sizes()[:20]
        for order in '<>':
            for nanoseconds in (False, True):
                with self.subTest(order=order, nanoseconds=nanoseconds):
                    captures.write_pcap(self.input, frames, order, nanoseconds)
                    self.assert_forwarded(frames)

    def test_reads_pcapng_of_both_byte_orders_and_resolutions(self):
        frames = captures.runts() + captures.all_sizes()[:20]
        for order in '<>':
            for nanoseconds in (False, True):
                with self.subTest(order=order, nanoseconds=nanoseconds):
                    captures.write_pcapng(self.input, frames, order,
                                          nanoseconds)
                    self.assert_forwarded(frames)

    def test_forwards_both_ways_at_once(self):
        there, back = captures.all_sizes(), captures.many(10_000)
        other_input = os.path.join(self.folder, 'other.pcap')
        other_output = os.path.join(self.folder, 'other_out.pcap')
        captures.write_pcap(self.input, there)
        captures.write_pcap(other_input, back)
        ended = l2fwd.outcome(f'pcap:{self.input},out={other_output}',
                              f'pcap:{other_input},out={self.output}')
        self.assertEqual(ended.status, 0, ended)
        self.assert_same_frames(captures.read_pcap(self.output), there)
        self.assert_same_frames(captures.read_pcap(other_output), back)
        self.assertEqual(table.unbalanced(ended.table), [])

    def test_says_dropped_of_what_the_other_port_cannot_send(self):
        frames = captures.all_sizes()
        captures.write_pcap(self.input, frames)
        ended = l2fwd.outcome(f'pcap:{self.input}',
                              f'pcap:,out={self.output},mtu=1500')
        short = [frame for frame in frames if len(frame) <= 1500 + 18]
        got = captures.read_pcap(self.output)
        self.assertLess(len(got), len(frames))
        self.assertGreaterEqual(len(got), len(short))
        self.assertEqual(table.received(ended.table), len(frames))
        self.assertEqual(table.sent(ended.table), len(got))
        self.assertEqual(ended.table['packets']['dropped'],
                         len(frames) - len(got))
        self.assertEqual(table.unbalanced(ended.table), [])

    def test_rewrites_macs_when_told_to(self):
        frames = captures.tagged()
        captures.write_pcap(self.input, frames)
        ended = l2fwd.outcome('--rewrite_macs', f'pcap:{self.input}',
                              f'pcap:,out={self.output}')
        self.assertEqual(ended.status, 0, ended)
        got = captures.read_pcap(self.output)
        self.assert_same_frames([frame[12:] for frame in got],
                                [frame[12:] for frame in frames])
        self.assertNotIn(frames[0][6:12], {frame[6:12] for frame in got})


if __name__ == '__main__':
    script_main.main()
