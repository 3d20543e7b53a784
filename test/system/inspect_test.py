#!/usr/bin/env python3
"""What inspect says of captures whose packets are known."""

import os
import random
import tempfile
import unittest

import l2fwd
import packets
import script_main

_INSPECT = os.path.abspath('apps/inspect/inspect')
_SECOND_NS = 10**9


class InspectTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.capture = os.path.join(folder.name, 'in.pcap')

    def inspect(self, frames, *flags, status=0, **capture):
        """The result for a capture of `frames`."""
        packets.write_capture(self.capture, frames, **capture)
        ended = l2fwd.outcome(f'pcap:{self.capture}', '--stats=0', *flags,
                              program=_INSPECT)
        self.assertEqual(ended.status, status, ended)
        self.stdout = ended.stdout
        self.stderr = ended.stderr
        return ended.table

    def frame(self, *args, **kwargs):
        """What it says of the only frame of a capture."""
        return self.inspect(*args, **kwargs)['frames'][0]

    def assert_delivered(self, result, *payloads):
        """The UDP payloads that came out, in order."""
        self.assertEqual(
            [entry['payload_sha256'] for entry in result['datagrams']],
            [packets.sha256(payload) for payload in payloads])

    def test_delivers_what_is_right(self):
        for packet in (packets.ipv4(packets.udp(b'payload')),
                       packets.ipv4(packets.tcp(b'payload'), 6),
                       packets.ipv4(packets.icmp(b'payload'), 1),
                       packets.ipv6(packets.udp(b'payload', family=6))):
            with self.subTest(packet=packet.hex()):
                seen = self.frame([packets.frame(packet)])
                self.assertEqual(seen['verdict'], 'deliver')
                self.assertEqual(seen['l4_csum'], 'good')
                self.assertEqual(seen['ip_csum'],
                                 'good' if packet[0] >> 4 == 4 else 'n/a')

    def test_takes_payload_by_the_length_of_udp_and_never_padding(self):
        result = self.inspect([packets.frame(packets.ipv4(packets.udp(b'x')))])
        self.assert_delivered(result, b'x')
        self.assertEqual(result['datagrams'][0]['l4_len'], 9)
        self.assertEqual(result['frames'][0]['pad'], 60 - 14 - 20 - 9)

    def test_passes_what_is_not_ip(self):
        arp = b'\xff' * 6 + b'\2\0\0\0\0\1' + bytes.fromhex(
            '0806' '0001080006040001' '020000000001c0000201' '000000000000c000020a')
        self.assertEqual(self.frame([arp.ljust(60, b'\0')])['verdict'], 'pass')

    def test_drops_and_names_bad_checksums(self):
        good = packets.frame(packets.ipv4(packets.udp(b'payload')))
        bad_header = good[:24] + bytes([good[24] ^ 1]) + good[25:]
        bad_udp = good[:42] + bytes([good[42] ^ 1]) + good[43:]
        result = self.inspect([bad_header, bad_udp, good])
        self.assertEqual([f['verdict'] for f in result['frames']],
                         ['drop', 'drop', 'deliver'])
        self.assertEqual(result['frames'][0]['ip_csum'], 'bad')
        self.assertEqual(result['frames'][1]['ip_csum'], 'good')
        self.assertEqual(result['frames'][1]['l4_csum'], 'bad')
        self.assert_delivered(result, b'payload')

    def test_delivers_bad_transport_checksums_if_told_to_ignore_them(self):
        good = packets.frame(packets.ipv4(packets.udp(b'payload')))
        bad = good[:40] + bytes([good[40] ^ 1]) + good[41:]
        seen = self.frame([bad], '--l4_checksum=ignore')
        self.assertEqual(seen['verdict'], 'deliver')

    def test_counts_runts_and_records_without_bytes_as_frames(self):
        good = packets.frame(packets.ipv4(packets.udp(b'payload')))
        result = self.inspect([b'', b'\2', good[:13], good])
        self.assertEqual([f['verdict'] for f in result['frames']],
                         ['drop', 'drop', 'drop', 'deliver'])
        self.assertEqual([r['caplen'] for r in result['records']],
                         [0, 1, 13, len(good)])

    def test_keeps_the_times_of_the_capture(self):
        good = packets.frame(packets.ipv4(packets.udp(b'payload')))
        result = self.inspect([(good, 0), (good, 1), (good, 999_999_999)])
        self.assertEqual([r['ts_ns'] - packets.EPOCH_NS
                          for r in result['records']], [0, 1, 999_999_999])

    def test_does_not_call_a_cut_capture_bad(self):
        whole = packets.frame(packets.ipv4(packets.udp(bytes(1000))))
        seen = self.frame([whole[:96]], wire_bytes={0: len(whole)})
        self.assertEqual(seen['verdict'], 'drop')
        self.assertEqual(seen['ip_csum'], 'good')
        self.assertEqual(seen['l4_csum'], 'unverifiable')
        self.assertEqual(seen['src'], packets.SOURCE4)
        self.assertIn('frames of which the capture has a part only '
                      '(rx_captured_short): 1\n', self.stderr)

    def test_says_what_it_did_not_receive(self):
        frame = packets.frame(packets.ipv4(packets.udp(bytes(9500))))
        result = self.inspect([frame, frame])
        self.assertEqual(result['frames'], [])
        self.assertEqual(
            self.stderr, f'inspect: port pcap:{self.capture},empty=on: frames '
            'not received as they are longer than its MTU takes (rx_oversize): '
            '2\n')

    def test_puts_fragments_together_in_any_order(self):
        payload = random.Random(1).randbytes(3000)
        for family, cut in ((4, packets.fragments4), (6, packets.fragments6)):
            datagram = packets.udp(payload, family=family)
            parts = [packets.frame(part) for part in cut(datagram, 1000)]
            for order in ([0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]):
                with self.subTest(family=family, order=order):
                    result = self.inspect([parts[i] for i in order])
                    self.assert_delivered(result, payload)
                    self.assertEqual([f['verdict'] for f in result['frames']],
                                     ['fragment'] * 4)
                    last = result['frames'][3]
                    self.assertEqual(last['completes'], [1, 2, 3, 4])
                    self.assertEqual(last['reassembled_l4_csum'], 'good')
                    self.assertEqual(result['reassembly']['completed'], 1)

    def test_judges_the_checksum_of_the_whole(self):
        datagram = bytearray(packets.udp(bytes(2000)))
        datagram[1500] ^= 1
        parts = packets.fragments4(bytes(datagram), 1000)
        result = self.inspect([packets.frame(part) for part in parts])
        self.assertEqual(result['datagrams'], [])
        self.assertEqual(result['frames'][2]['reassembled_l4_csum'], 'bad')
        self.assertTrue(result['frames'][2]['reassembled_drop'])

    def test_parses_the_whole(self):
        datagram = packets.udp(bytes(2000))
        too_long = datagram[:4] + b'\x23\x28' + datagram[6:]
        parts = packets.fragments4(too_long, 1000)
        result = self.inspect([packets.frame(part) for part in parts])
        self.assertEqual(result['datagrams'], [])
        self.assertEqual(result['frames'][2]['reassembled_drop'], 'udp-len')

    def test_gives_up_after_the_time_of_the_capture(self):
        payload = bytes(2000)
        first, second, third = [packets.frame(part) for part in
                                packets.fragments4(packets.udp(payload), 1000)]
        for seconds, completed in ((29, 1), (31, 0)):
            with self.subTest(seconds=seconds):
                result = self.inspect([(first, 0), (second, 1),
                                       (third, seconds * _SECOND_NS)])
                self.assertEqual(result['reassembly']['completed'], completed)
                self.assertEqual(result['reassembly']['timed_out'], 1 - completed)
        result = self.inspect([(first, 0), (second, 1), (third, 5 * _SECOND_NS)],
                              '--reassembly_timeout=2s')
        self.assertEqual(result['reassembly'],
                         {'completed': 0, 'timed_out': 1, 'overlap_abandoned': 0,
                          'pending_at_end': 1})

    def test_drops_the_datagram_of_an_overlap(self):
        parts = packets.fragments4(packets.udp(bytes(2000)), 1000)
        overlap = packets.ipv4(bytes(16), 17, 7, 0x2000 | 992 // 8)
        result = self.inspect([packets.frame(part) for part in
                               (parts[0], overlap, parts[1], parts[2])])
        self.assertEqual(result['datagrams'], [])
        self.assertEqual([f['verdict'] for f in result['frames']],
                         ['fragment', 'drop', 'drop', 'drop'])
        self.assertEqual(result['reassembly']['overlap_abandoned'], 1)

    def test_keeps_within_its_bounds(self):
        firsts = [packets.frame(packets.fragments4(packets.udp(bytes(2000)), 1000,
                                                   identification=number)[0])
                  for number in range(100)]
        result = self.inspect(firsts, '--max_datagrams=16')
        self.assertLessEqual(result['reassembly']['pending_at_end'], 16)
        parts = packets.fragments4(packets.udp(bytes(2000)), 8)
        result = self.inspect([packets.frame(part) for part in parts],
                              '--max_fragments=64')
        self.assertEqual(result['datagrams'], [])
        result = self.inspect([packets.frame(part) for part in parts],
                              '--max_fragments=300')
        self.assert_delivered(result, bytes(2000))

    def test_spreads_flows_by_their_hash_and_fragments_by_addresses(self):
        whole = packets.frame(packets.ipv4(packets.udp(b'payload')))
        parts = [packets.frame(part) for part in
                 packets.fragments4(packets.udp(bytes(2000)), 1000)]
        result = self.inspect([whole, *parts], '--queues=4', '--rss_table=128')
        self.assertEqual([f['input'] for f in result['frames']],
                         ['4-tuple', '2-tuple', '2-tuple', '2-tuple'])
        for seen in result['frames']:
            self.assertEqual(seen['queue'], int(seen['hash'], 16) % 128 % 4)
        self.assertEqual(len({f['hash'] for f in result['frames'][1:]}), 1)

    def test_hashes_as_published(self):
        """Microsoft, Verifying the RSS Hash Calculation: the first vector."""
        source, target = '66.9.149.187', '161.142.100.80'
        before = packets.SOURCE4, packets.TARGET4
        try:
            packets.SOURCE4, packets.TARGET4 = source, target
            seen = self.frame(
                [packets.frame(packets.ipv4(packets.udp(b'', 2794, 1766)))],
                '--rss_key=6d5a56da255b0ec24167253d43a38fb0d0ca2bcbae7b30b477cb2da3'
                '8030f20c6a42b73bbeac01fa')
        finally:
            packets.SOURCE4, packets.TARGET4 = before
        self.assertEqual(seen['hash'], '0x51ccc178')

    def test_prints_a_summary_and_each_reason(self):
        good = packets.frame(packets.ipv4(packets.udp(b'payload')))
        self.inspect([good, good[:30]])
        self.assertIn('drop: ip-truncated', self.stdout)
        self.assertRegex(self.stdout, r'1 delivered')


class BadFlagsTest(unittest.TestCase):

    def assert_refused(self, text, *arguments):
        ended = l2fwd.outcome(*arguments, program=_INSPECT)
        self.assertEqual(ended.status, 1, ended)
        self.assertEqual(ended.stderr.count('\n'), 1, ended.stderr)
        self.assertIn(text, ended.stderr)

    def test_says_what_is_wrong(self):
        for flag, text in (('--l4_checksum=maybe', 'maybe'),
                           ('--reassembly_timeout=soon', 'soon'),
                           ('--max_datagrams=0', 'max_datagrams'),
                           ('--max_fragments=9000', '8191'),
                           ('--queues=0', 'queues'),
                           ('--rss_table=100', 'power of two'),
                           ('--rss_key=6d5a', '40 bytes'),
                           ('--rss_key=' + 'zz' * 40, 'hexadecimal')):
            with self.subTest(flag=flag):
                self.assert_refused(text, 'null:', flag, '--duration=1')

    def test_wants_one_port(self):
        self.assert_refused('exactly 1 port, got 0', '--duration=1')
        self.assert_refused('exactly 1 port, got 2', 'null:', 'null:',
                            '--duration=1')


if __name__ == '__main__':
    script_main.main()
