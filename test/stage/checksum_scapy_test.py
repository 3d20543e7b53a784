#!/usr/bin/env python3
"""Checksums of 10,000 random packets, against those that scapy computes."""

import random
import struct
import subprocess
import unittest

from scapy.contrib.igmp import IGMP
from scapy.layers.inet import (ICMP, IP, TCP, UDP, IPOption_LSRR,
                               IPOption_NOP, IPOption_RR, IPOption_SSRR,
                               in4_pseudoheader)
from scapy.layers.inet6 import (HAO, ICMPv6EchoRequest, IPv6,
                                IPv6ExtHdrDestOpt, IPv6ExtHdrHopByHop,
                                IPv6ExtHdrRouting, IPv6ExtHdrSegmentRouting,
                                PadN)
from scapy.layers.l2 import Dot1Q, Ether
from scapy.layers.sctp import SCTP, SCTPChunkData
from scapy.packet import Raw
from scapy.utils import checksum

import script_main

_TOOL = 'test/stage/checksum_tool'
_PACKETS = 10_000
_SEED = 20261130

# Of each protocol: where its checksum is and how long, and which bytes of its
# header decide more than the checksum.
_TCP = ('TCP', 16, 2, {12, 16, 17})
_UDP = ('UDP', 6, 2, {4, 5, 6, 7})
_UDP_LITE = ('UDP-Lite', 6, 2, {4, 5, 6, 7})
_SCTP = ('SCTP', 8, 4, {8, 9, 10, 11})
# Of these the type says how long the message has to be.
_ICMP = ('ICMP', 2, 2, {0, 1, 2, 3})
_ICMP6 = ('ICMPv6', 2, 2, {0, 1, 2, 3})
_IGMP = ('IGMP', 2, 2, {0, 1, 2, 3})


class _Maker:
    """Random packets, the same for the same seed."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def _address4(self):
        return '198.51.%d.%d' % (self.random.randrange(256),
                                 self.random.randrange(1, 255))

    def _address6(self):
        return '2001:db8::%x:%x' % (self.random.randrange(65536),
                                    self.random.randrange(1, 65536))

    def _payload(self):
        most = self.random.choice((1, 2, 30, 200, 1400))
        return self.random.randbytes(self.random.randrange(most + 1))

    def _ports(self):
        return {'sport': self.random.randrange(65536),
                'dport': self.random.randrange(65536)}

    def _options4(self):
        # A route has to begin at its first hop, 4, to be open.
        route = {'routers': [self._address4() for _ in range(
            self.random.randrange(1, 4))], 'pointer': 4}
        return self.random.choice((
            [], [], [], [IPOption_NOP()] * 3,
            [IPOption_RR(routers=[self._address4()])],
            [IPOption_LSRR(**route)], [IPOption_NOP(), IPOption_SSRR(**route)]))

    def ip4(self):
        return IP(src=self._address4(), dst=self._address4(),
                  id=self.random.randrange(65536), options=self._options4(),
                  ttl=self.random.randrange(1, 256))

    def ip6(self):
        packet = IPv6(src=self._address6(), dst=self._address6(),
                      hlim=self.random.randrange(1, 256))
        if self.random.random() < 0.2:
            packet /= IPv6ExtHdrHopByHop(options=[PadN(optdata=bytes(4))])
        chance = self.random.random()
        hops = [self._address6() for _ in range(self.random.randrange(1, 4))]
        if chance < 0.1:
            packet /= IPv6ExtHdrDestOpt(options=[PadN(optdata=bytes(12))])
        elif chance < 0.2:
            packet /= IPv6ExtHdrDestOpt(options=[HAO(hoa=self._address6())])
        elif chance < 0.35:
            packet /= IPv6ExtHdrRouting(
                addresses=hops, segleft=self.random.randrange(len(hops) + 1))
        elif chance < 0.5:
            packet /= IPv6ExtHdrSegmentRouting(
                addresses=hops, segleft=self.random.randrange(len(hops)),
                lastentry=len(hops) - 1)
        return packet

    def _udp_lite(self, ip):
        data = self._payload()
        size = 8 + len(data)
        coverage = self.random.choice((0, size, self.random.randrange(
            8, size + 1)))
        ports = struct.pack('!HHH', *self._ports().values(), coverage)
        part = ports + bytes(2) + data
        summed = in4_pseudoheader(136, ip, size) + part[:coverage or size]
        value = checksum(summed) or 0xffff
        ip.proto = 136
        return Raw(ports + struct.pack('!H', value) + data), coverage or size

    def packet(self):
        """(frame, offset of what IP carries, bytes covered, kind, is_v6)."""
        is_v6 = self.random.random() < 0.5
        ip = self.ip6() if is_v6 else self.ip4()
        covered = None
        kind = self.random.choice(
            (_TCP, _UDP, _SCTP, _ICMP6) if is_v6 else
            (_TCP, _UDP, _SCTP, _ICMP, _IGMP, _UDP_LITE))
        if kind is _TCP:
            layer = TCP(**self._ports(), seq=self.random.getrandbits(32)) / Raw(
                self._payload())
        elif kind is _UDP:
            layer = UDP(**self._ports()) / Raw(self._payload())
        elif kind is _SCTP:
            layer = SCTP(**self._ports(), tag=self.random.getrandbits(
                32)) / SCTPChunkData(data=self._payload() + b'x')
        elif kind is _ICMP:
            layer = ICMP(id=self.random.randrange(65536)) / Raw(
                self._payload())
        elif kind is _ICMP6:
            layer = ICMPv6EchoRequest(id=self.random.randrange(65536),
                                      data=self._payload())
        elif kind is _IGMP:
            layer = IGMP(type=0x16, gaddr='233.252.0.%d'
                         % self.random.randrange(256))
        else:
            layer, covered = self._udp_lite(ip)
        front = Ether(src='02:00:00:00:00:0a', dst='02:00:00:00:00:0b')
        if self.random.random() < 0.2:
            front /= Dot1Q(vlan=self.random.randrange(1, 4095))
        start = len(bytes(front / ip))
        frame = bytes(front / ip / layer)
        return (frame, start, covered or len(frame) - start, kind, is_v6)

    def pad(self, frame):
        """Padding of any bytes, which no checksum covers."""
        return frame + self.random.randbytes(max(0, 60 - len(frame)))


def _ask(frames):
    """The words of the tool's line about each frame."""
    text = b''.join(struct.pack('<H', len(frame)) + frame for frame in frames)
    done = subprocess.run([_TOOL], input=text, check=True,
                          stdout=subprocess.PIPE)
    return [line.split(' ') for line in done.stdout.decode().splitlines()]


class ChecksumScapyTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.maker = _Maker(_SEED)
        cls.packets = [cls.maker.packet() for _ in range(_PACKETS)]

    def ask(self, frames):
        said = _ask(frames)
        self.assertEqual(len(said), len(frames))
        return said

    def test_right_ones_are_good(self):
        frames = [self.maker.pad(packet[0]) for packet in self.packets]
        for packet, frame, said in zip(self.packets, frames, self.ask(frames)):
            want = ['unknown' if packet[4] else 'good', 'good', '-']
            self.assertEqual(said[:3], want, frame.hex())

    def test_a_flipped_bit_is_bad(self):
        frames = []
        for frame, start, covered, kind, _ in self.packets:
            at = self.maker.random.choice(
                [i for i in range(covered) if i not in kind[3]])
            flipped = bytearray(frame)
            flipped[start + at] ^= 1 << self.maker.random.randrange(8)
            frames.append(bytes(flipped))
        for packet, frame, said in zip(self.packets, frames, self.ask(frames)):
            self.assertEqual(said[1:3], ['bad', packet[3][0] + '-checksum'],
                             frame.hex())

    def test_a_flipped_bit_of_an_ipv4_header_is_bad(self):
        frames = []
        for frame, start, _, _, is_v6 in self.packets:
            if is_v6:
                continue
            # Identification, TTL, addresses; from the end of the header that
            # has no options.
            ip_at = 18 if frame[12:14] == b'\x81\0' else 14
            flipped = bytearray(frame)
            at = self.maker.random.choice((4, 5, 8, 12, 15, 16, 19))
            flipped[ip_at + at] ^= 1 << self.maker.random.randrange(8)
            self.assertLess(ip_at, start)
            frames.append(bytes(flipped))
        for frame, said in zip(frames, self.ask(frames)):
            self.assertEqual(said[0], 'bad', frame.hex())
            self.assertEqual(said[2], 'IPv4-header-checksum')

    def test_filled_in_ones_are_the_same(self):
        frames = []
        for frame, start, _, kind, is_v6 in self.packets:
            wrong = bytearray(frame)
            field = start + kind[1]
            wrong[field:field + kind[2]] = self.maker.random.randbytes(kind[2])
            if not is_v6:
                ip_at = 18 if frame[12:14] == b'\x81\0' else 14
                wrong[ip_at + 10:ip_at + 12] = self.maker.random.randbytes(2)
            frames.append(bytes(wrong))
        for packet, said in zip(self.packets, self.ask(frames)):
            self.assertEqual(said[3], packet[0].hex(), packet[3][0])


if __name__ == '__main__':
    script_main.main()
