#!/usr/bin/env python3
"""The program fragment over captures: what comes in, what goes out."""

import os
import random
import socket
import struct
import subprocess
import tempfile
import unittest

import captures
import script_main

_PROGRAM = os.path.abspath('apps/fragment/fragment')
_PATIENCE_SECONDS = 60


def _udp4(size, seed, fragment=0, tags=()):
    """A frame with a datagram whose UDP payload is `size` bytes."""
    payload = random.Random(seed).randbytes(size)
    return captures.ethernet(
        0x0800, captures.ipv4(captures.udp(payload), seed, fragment), tags)


def _udp6(size, seed):
    payload = random.Random(seed).randbytes(size)
    return captures.ethernet(0x86dd, captures.ipv6(captures.udp(payload)))


class _Part:
    """A frame with IP right behind Ethernet II and its tags, taken apart."""

    def __init__(self, frame):
        start = 14
        while frame[start - 2:start] in (b'\x81\x00', b'\x88\xa8'):
            start += 4
        self.layer2, packet = frame[:start], frame[start:]
        self.is_ipv6 = packet[0] >> 4 == 6
        if self.is_ipv6:
            self.size = 40 + struct.unpack_from('>H', packet, 4)[0]
            self.is_fragment = packet[6] == 44
            next_header, _, word, self.id = struct.unpack_from('>BBHI', packet,
                                                               40)
            self.offset, self.more = word & 0xfff8, word & 1
            self.headers = packet[:6] + bytes([next_header]) + packet[7:40]
            self.data = packet[48:self.size]
        else:
            self.size, self.id, word = struct.unpack_from('>HHH', packet, 2)
            self.is_fragment = word & 0x3fff != 0
            self.offset, self.more = (word & 0x1fff) * 8, word >> 13 & 1
            self.headers = packet[:20]
            self.data = packet[20:self.size]

    def is_sound(self):
        """Whether the checksum of an IPv4 header is right."""
        if self.is_ipv6:
            return True
        return sum(struct.unpack('>10H', self.headers)) % 65535 == 0


def _join(parts):
    """The frame that `parts`, in order, are fragments of."""
    data = b''.join(part.data for part in parts)
    headers = parts[0].headers
    if parts[0].is_ipv6:
        headers = headers[:4] + struct.pack('>H', len(data)) + headers[6:]
        return parts[0].layer2 + headers + data
    return parts[0].layer2 + captures.ipv4(data, parts[0].id)


class FragmentTest(unittest.TestCase):

    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)

    def _path(self, name):
        return os.path.join(self._folder.name, name)

    def _run(self, *arguments):
        return subprocess.run([_PROGRAM, *arguments], capture_output=True,
                              text=True, timeout=_PATIENCE_SECONDS, check=False)

    def _send(self, frames, *flags):
        """What leaves by each port, and what was printed."""
        captures.write_pcap(self._path('in.pcap'), frames)
        done = self._run(
            f'pcap:{self._path("in.pcap")},out={self._path("back.pcap")},'
            'mtu=65535',
            f'pcap:,out={self._path("out.pcap")},mtu=65535', *flags)
        self.assertEqual(done.returncode, 0, done.stderr)
        return (captures.read_pcap(self._path('out.pcap')),
                captures.read_pcap(self._path('back.pcap')), done.stdout)

    def _check(self, frame, parts, mtu):
        """That `parts` are the fragments of `frame`."""
        offset = 0
        for number, part in enumerate(parts):
            self.assertTrue(part.is_fragment and part.is_sound())
            self.assertLessEqual(part.size, mtu)
            self.assertEqual(part.offset, offset)
            self.assertEqual(part.id, parts[0].id)
            self.assertEqual(part.more, number + 1 < len(parts))
            offset += len(part.data)
        self.assertEqual(_join(parts), frame)

    def test_datagrams_are_cut_and_all_their_bytes_arrive_in_order(self):
        frames = [_udp4(size, size) for size in
                  (10, 1472, 1473, 4000, 65000, 1480)]
        frames += [_udp6(size, size) for size in (10, 1452, 1453, 4000, 65000)]
        frames += [_udp4(3000, 9, tags=[(0x88a8, 100), (0x8100, 7)])]
        out, back, _ = self._send(frames, '--mtu=1500')
        self.assertEqual(back, [])
        for frame in frames:
            if _Part(frame).size <= 1500:
                self.assertEqual(out.pop(0), frame)
                continue
            parts = [_Part(out.pop(0))]
            while parts[-1].more:
                parts.append(_Part(out.pop(0)))
            self._check(frame, parts, 1500)
        self.assertEqual(out, [])

    def test_the_least_mtu_of_each_version_works(self):
        out, _, _ = self._send([_udp4(1000, 1)], '--mtu=68')
        self._check(_udp4(1000, 1), [_Part(frame) for frame in out], 68)
        out, _, _ = self._send([_udp6(5000, 1)], '--mtu=1280')
        self._check(_udp6(5000, 1), [_Part(frame) for frame in out], 1280)

    def test_a_host_drops_what_must_not_be_cut_and_says_so(self):
        out, back, text = self._send(
            [_udp4(2000, 1, 0x4000), _udp4(100, 2, 0x4000)], '--mtu=1500')
        self.assertEqual(out, [_udp4(100, 2, 0x4000)])
        self.assertEqual(back, [])
        self.assertIn('over the MTU, and DF set', text)

    def test_a_router_tells_senders_the_mtu_and_cuts_no_ipv6(self):
        out, back, _ = self._send(
            [_udp4(2000, 1, 0x4000), _udp6(2000, 2), _udp4(2000, 3)],
            '--mtu=1400', '--role=router', '--router_ipv4=192.0.2.9',
            '--router_ipv6=2001:db8::9')
        self._check(_udp4(2000, 3), [_Part(frame) for frame in out], 1400)
        self.assertEqual(len(back), 2)
        # RFC 1191 §4: to the sender, from the router, type 3, code 4, the MTU.
        self.assertEqual(back[0][26:34], socket.inet_aton('192.0.2.9') +
                         socket.inet_aton('10.0.0.1'))
        self.assertEqual(back[0][34:36], b'\x03\x04')
        self.assertEqual(back[0][40:42], struct.pack('>H', 1400))
        # RFC 4443 §3.2.
        self.assertEqual(back[1][22:38],
                         socket.inet_pton(socket.AF_INET6, '2001:db8::9'))
        self.assertEqual(back[1][54:56], b'\x02\x00')
        self.assertEqual(back[1][58:62], struct.pack('>I', 1400))

    def test_a_wrong_flag_is_one_line_that_names_it(self):
        ports = ['null:', 'null:']
        for arguments, words in [
                ([*ports, '--mtu=67'], ['--mtu', '67', '68']),
                ([*ports, '--mtu=65536'], ['--mtu', '65536']),
                ([*ports, '--mtu=many'], ['mtu', 'many']),
                ([*ports, '--role=switch'], ['--role', 'switch', 'router']),
                ([*ports, '--router_ipv4=192.0.2.1'],
                 ['--router_ipv4', '--role=router']),
                *(([*ports, '--role=router', f'--router_ipv4={address}'],
                   ['--router_ipv4', address, '192.0.2.1'])
                  for address in ('0.0.0.0', '224.0.0.1', '255.255.255.255')),
                *(([*ports, '--role=router', f'--router_ipv6={address}'],
                   ['--router_ipv6', address, '2001:db8::1'])
                  for address in ('::', 'ff02::1')),
                ([*ports, '--router_ipv4=fe80::1'],
                 ['--router_ipv4', 'fe80::1', '192.0.2.1']),
                ([*ports, '--router_ipv6=1.2.3.4'],
                 ['--router_ipv6', '1.2.3.4', '2001:db8::1']),
                (['null:'], ['2 ports', 'got 1']),
        ]:
            with self.subTest(arguments=arguments):
                done = self._run(*arguments)
                self.assertEqual(done.returncode, 1)
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
                for word in words:
                    self.assertIn(word, done.stderr)

    def test_help_says_what_it_does_and_gives_examples(self):
        done = self._run('--help')
        self.assertEqual(done.returncode, 0)
        for word in ('Cuts what one port receives', '--mtu', '--role',
                     'fragment pcap:in.pcap'):
            self.assertIn(word, done.stdout)


if __name__ == '__main__':
    script_main.main()
