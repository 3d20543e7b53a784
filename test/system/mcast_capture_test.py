#!/usr/bin/env python3
"""mcast recv of captures: which frames are delivered, without any netdev."""

import os
import random
import socket
import struct
import tempfile
import unittest

import captures
import groups
import mcast
import script_main
from mcast import GROUP, PORT

_SOURCE = '192.0.2.10'
# Of the 32 groups of one MAC (RFC 1112 §6.4), the others differ in five bits.
_SAME_MAC = ['239.252.0.5', '224.124.0.5', '225.252.0.5', '239.124.0.5']


def _udp(data, port):
    return struct.pack('>HHHH', 4000, port, 8 + len(data), 0) + data


def _ipv4(data, group, source=_SOURCE, identification=1, word=0):
    header = struct.pack('>BBHHHBBH', 0x45, 0, 20 + len(data), identification,
                         word, 1, 17, 0)
    header += socket.inet_aton(source) + socket.inet_aton(group)
    return (header[:10] + struct.pack('>H', groups.checksum(header)) +
            header[12:] + data)


def _frame(packet, group, tag=b''):
    return (groups.group_mac(group) + bytes.fromhex('020000000001') + tag +
            b'\x08\x00' + packet).ljust(60, b'\0')


def _datagram(data, group=GROUP, port=PORT, source=_SOURCE, tag=b''):
    return _frame(_ipv4(_udp(data, port), group, source), group, tag)


def _fragments(data, identification, size=1480):
    """Frames of one datagram."""
    whole = _udp(data, PORT)
    parts = range(0, len(whole), size)
    return [_frame(_ipv4(whole[start:start + size], GROUP,
                         identification=identification,
                         word=start // 8 | (0x2000 if start != parts[-1]
                                            else 0)), GROUP)
            for start in parts]


class CaptureTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def receive(self, frames, *arguments, group=GROUP):
        """What is delivered, drops, and what was said, of `frames`."""
        given, said, out = (os.path.join(self.folder, name) for name in
                                    ['in.pcap', 'said.pcap', 'payload'])
        captures.write_pcap(given, frames)
        if os.path.exists(out):
            os.unlink(out)
        receiver = mcast.Receiver(self, f'pcap:{given},out={said},mtu=1500',
                                  f'--group={group}', f'--to=file:{out}',
                                  *arguments, folder=self.folder)
        code, report = receiver.wait()
        self.assertEqual((code, receiver.stderr()), (0, ''))
        reports = [groups.read_igmp(0, frame) for frame in
                   captures.read_pcap(said)]
        with open(out, 'rb') as file:
            return file.read(), mcast.drops(report), reports

    def test_groups_of_one_mac_are_told_apart(self):
        for other in _SAME_MAC:
            self.assertEqual(groups.group_mac(other), groups.group_mac(GROUP))
        frames = [_datagram(b'<first>')]
        frames += [_datagram(b'<other>', group=other) for other in _SAME_MAC]
        frames += [_datagram(b'<next>', group='233.252.0.6'),
                   _datagram(b'<port>', port=PORT + 1),
                   _datagram(b'<last>', source='192.0.2.99')]
        got, drops, _ = self.receive(frames)
        self.assertEqual(got, b'<first><last>')
        self.assertEqual((drops['group not joined'],
                          drops['another UDP port']), (4, 1))

    def test_a_tag_tells_apart_too(self):
        frames = [_datagram(b'<none>'),
                  _datagram(b'<seven>', tag=bytes.fromhex('81000007')),
                  _datagram(b'<eight>', tag=bytes.fromhex('81000008'))]
        got, drops, said = self.receive(frames, '--vlan=7')
        self.assertEqual(got, b'<seven>')
        self.assertEqual(drops['group on another VLAN'], 2)
        got, drops, _ = self.receive(frames)
        self.assertEqual(got, b'<none>')

    def test_fragments_in_any_order_of_several_datagrams(self):
        data = [random.Random(seed).randbytes(60000) for seed in range(3)]
        frames = [frame for number, each in enumerate(data)
                  for frame in _fragments(each, number)]
        random.Random(7).shuffle(frames)
        # One is not whole.
        frames += _fragments(bytes(3000), 9)[:2]
        got, drops, _ = self.receive(frames)
        self.assertEqual(len(got), 180000)
        self.assertEqual({got[i:i + 60000] for i in range(0, 180000, 60000)},
                         set(data))
        self.assertEqual(drops['incomplete at the end'], 2)

    def test_short_fragments_of_a_long_datagram(self):
        data = random.Random(5).randbytes(60000)
        frames = _fragments(data, 5, size=552)
        self.assertGreater(len(frames), 100)
        self.assertEqual(self.receive(frames)[0], data)

    def test_sources_decide_before_fragments_are_kept(self):
        wanted = _datagram(b'<wanted>', source='192.0.2.7')
        frames = [*_fragments(bytes(60000), 1), wanted]
        got, drops, _ = self.receive(frames, '--source=192.0.2.7')
        self.assertEqual(got, b'<wanted>')
        self.assertEqual(drops['source not wanted'], 41)

    def test_length_fields_that_lie(self):
        short = _frame(_ipv4(struct.pack('>HHHH', 4000, PORT, 12, 0) +
                             b'1234beyond', GROUP), GROUP)
        none = _frame(_ipv4(struct.pack('>HHHH', 4000, PORT, 7, 0) + b'1234',
                            GROUP), GROUP)
        long = _frame(_ipv4(struct.pack('>HHHH', 4000, PORT, 400, 0) + b'1234',
                            GROUP), GROUP)
        got, drops, _ = self.receive([none, long, short])
        # Bytes behind the datagram are none of it (RFC 768).
        self.assertEqual(got, b'1234')
        self.assertEqual(drops['udp-len'], 2)

    def test_what_it_says_first(self):
        _, _, said = self.receive([_datagram(b'x')])
        # RFC 3376 §4.2, §5.1: at once.
        self.assertEqual(said[0][1:],
                         ('01:00:5e:00:00:16', mcast.IP, '224.0.0.22', 1, True,
                          0x22, [(mcast.TO_EXCLUDE, GROUP, ())]))

    def test_a_join_fits_into_as_few_reports_as_there_is_room_for(self):
        many = [f'232.1.{i // 200}.{i % 200}' for i in range(256)]
        _, _, said = self.receive([_datagram(b'x', group=many[0])],
                                  group=','.join(many))
        # 1500 bytes have 24 of IPv4, 8 of IGMP and 8 a record. What is said again
        # may begin before the end.
        first = said[:2]
        self.assertEqual([len(message.records) for message in first], [183, 73])
        told = [group for message in first for _, group, _ in message.records]
        self.assertEqual(sorted(told), sorted(many))


if __name__ == '__main__':
    script_main.main()
