#!/usr/bin/env python3
"""Compares the parser with tshark over 10,000 random frames, half of them with
something changed: what is accepted is where tshark says it is and has nothing
wrong that tshark's fields show; what is refused has the wrong that is named.
"""

import os
import random
import re
import struct
import subprocess
import tempfile
import unittest

import random_frames
import script_main

_FRAMES, _SEED = 10000, 4
# What is found is printed under the numbers of net::NetworkLayer.
_LAYERS = {1: 'ip', 2: 'ipv6'}
_LLC = 5
_TRANSPORT_WRONGS = ('l4-truncated', 'tcp-hlen', 'udp-len',
                     'udplite-coverage')
_FRAGMENT = 1
# How tshark calls what has a protocol number, and how long its header is.
_PROTOCOLS = {1: ('icmp', 8), 6: ('tcp', 20), 17: ('udp', 8), 47: ('gre', 4),
              58: ('icmpv6', 8), 132: ('sctp', 12), 136: ('udplite', 8)}
_EXTENSIONS = ('ipv6.hopopts', 'ipv6.dstopts', 'ipv6.routing', 'ipv6.fraghdr')
_SHOWN = ('eth', 'vlan', 'ieee8021ad', 'llc', 'mpls', 'ip', 'ipv6',
          *_EXTENSIONS, *(name for name, _ in _PROTOCOLS.values()),
          '_ws.malformed')
# One packet at a time, as it is; names by number.
_PREFERENCES = ('eth.fcs:Never', 'ip.defragment:FALSE', 'ipv6.defragment:FALSE',
                'tcp.analyze_sequence_numbers:FALSE')
_PROTO = re.compile(r'<proto name="([^"]*)"[^>]* size="(\d+)" pos="(\d+)"')
_FIELD = re.compile(r'<field name="([^"]*)"[^>]* show="([^"]*)"')


def _write_pcap(path, frames):
    with open(path, 'wb') as file:
        file.write(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 262144, 1))
        for number, frame in enumerate(frames):
            file.write(struct.pack('<IIII', number, 0, len(frame), len(frame)))
            file.write(frame)


class _Seen:
    """What tshark says of a frame."""

    def __init__(self, text, frame):
        self.frame = frame
        self.at = {}
        for name, _, pos in _PROTO.findall(text):
            self.at.setdefault(name, int(pos))
        self._fields = {}
        for name, show in _FIELD.findall(text):
            self._fields.setdefault(name, show)

    def number(self, name):
        """The field of that name, None if there is none."""
        show = self._fields.get(name)
        if show in ('True', 'False'):
            return int(show == 'True')
        return None if show is None else int(show, 0)

    def end(self):
        """Where the IP packet says that it ends; None without one."""
        if self.number('ip.len') is not None:
            return self.at['ip'] + self.number('ip.len')
        if self.number('ipv6.plen') is not None:
            return self.at['ipv6'] + 40 + self.number('ipv6.plen')
        return None

    def room(self):
        """Where the frame or, as its length says, the 802.3 payload ends."""
        length = self.number('eth.len') or self.number('vlan.len')
        if length is None or 'llc' not in self.at:
            return len(self.frame)
        return self.at['llc'] + length

    def more_fragments(self):
        return bool((self.number('ip.flags') or 0) & 1)

    def is_fragment(self):
        return bool(self.more_fragments() or self.number('ip.frag_offset')
                    or self.number('ipv6.fraghdr.offset')
                    or self.number('ipv6.fraghdr.more'))


def _transport_wrongs(seen):
    """What is wrong with the transport header of a packet that is whole."""
    for name, least in _PROTOCOLS.values():
        if name not in seen.at:
            continue
        payload = seen.end() - seen.at[name]
        if payload < least:
            yield 'l4-truncated'
        header = seen.number('tcp.hdr_len')
        if name == 'tcp' and header is not None and not 20 <= header <= payload:
            yield 'tcp-hlen'
        length = seen.number('udp.length')
        if name == 'udp' and length is not None and not 8 <= length <= payload:
            yield 'udp-len'
        covered = seen.number('udp.checksum_coverage')
        if name == 'udplite' and covered and not 8 <= covered <= payload:
            yield 'udplite-coverage'


def _fragment_wrongs(seen):
    header = seen.number('ip.hdr_len')
    if header is None:
        return
    size = seen.number('ip.len') - header
    if size == 0:
        yield 'frag-zero-len'
    if seen.more_fragments() and size % 8 != 0:
        yield 'frag-align'
    # tshark counts the offset in bytes.
    if header + seen.number('ip.frag_offset') + size > 65535:
        yield 'frag-oversize'


def wrongs(seen):
    """The names of all that tshark's fields show to be wrong."""
    header = seen.number('ip.hdr_len')
    total = seen.number('ip.len')
    # tshark shows ip.version of both.
    version = 4 if 'ip' in seen.at else 6
    if seen.number('ip.version') not in (None, version):
        yield 'ip-version'
    if header is not None and header < 20:
        yield 'ip-hlen'
    if header is not None and total is not None and total < header:
        yield 'ip-total-short'
    if seen.number('ipv6.plen') == 0 and seen.number('ipv6.nxt') != 59:
        yield 'ip6-plen-zero'
    end = seen.end()
    if end is None:
        return
    if end > min(seen.room(), len(seen.frame)):
        yield 'ip-total-long'
    elif seen.is_fragment():
        yield from _fragment_wrongs(seen)
    else:
        yield from _transport_wrongs(seen)


def _is_supported(reason, seen, found_wrongs):
    """Whether tshark has a reason to refuse, too."""
    if reason in found_wrongs:
        return True
    # tshark gives up in front of what is cut, without a word on why.
    if reason in ('runt', 'ip-truncated', 'mpls-truncated', 'llc-truncated',
                  'arp-truncated'):
        return '_ws.malformed' in seen.at or seen.end() is None or \
            seen.room() < len(seen.frame)
    if reason == 'llc-length':
        # tshark takes no length behind a tag of 802.1ad.
        return '_ws.malformed' in seen.at or 'ieee8021ad' in seen.at or \
            seen.room() > len(seen.frame)
    # A change made a type or a chain of something else.
    if reason == 'ip-options':
        return (seen.number('ip.hdr_len') or 0) > 20
    if reason in ('ip6-ext', 'frag-hdr-chain', 'frag-zero-len', 'frag-align',
                  'frag-oversize'):
        return any(name in seen.at for name in (*_EXTENSIONS, 'ah')) or \
            '_ws.malformed' in seen.at
    if reason == 'l4-truncated':
        return '_ws.malformed' in seen.at or \
            not any(name in seen.at for name, _ in _PROTOCOLS.values())
    return reason in ('ethertype', 'vlan-depth', 'ip6-jumbo')


class ParseVsTsharkTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        source = random.Random(_SEED)
        cls.frames = [
            random_frames.valid(source) if number % 2 == 0 else
            random_frames.changed(source) for number in range(_FRAMES)]
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'frames.pcap')
            _write_pcap(path, cls.frames)
            command = ['tshark', '-n', '-r', path, '-T', 'pdml', '-j',
                       ' '.join(_SHOWN)]
            for preference in _PREFERENCES:
                command += ['-o', preference]
            pdml = subprocess.run(command, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True,
                                  check=True).stdout
        cls.seen = [_Seen(text, frame) for text, frame in
                    zip(pdml.split('<packet>')[1:], cls.frames)]
        lines = subprocess.run(
            ['test/net/parse_lines'], stdout=subprocess.PIPE, check=True,
            input=''.join(f'{frame.hex()}\n' for frame in cls.frames),
            text=True).stdout.splitlines()
        cls.found = [line.split() for line in lines]

    def test_all_were_looked_at(self):
        self.assertEqual(len(self.seen), _FRAMES)
        self.assertEqual(len(self.found), _FRAMES)

    def test_valid_frames_are_accepted(self):
        for number in range(0, _FRAMES, 2):
            self.assertEqual(self.found[number][0], 'ok',
                             self.frames[number].hex())

    def _check_accepted(self, found, seen):
        l3_at, l4_at, trailer, protocol, layer, flags = map(int, found[1:])
        frame = seen.frame.hex()
        if layer == _LLC:
            # tshark takes the service access point 6 for IP (RFC 948); what
            # carries IP now is SNAP.
            if seen.number('llc.oui') == 0:
                self.assertNotIn(seen.number('llc.type'), (0x0800, 0x86dd),
                                 frame)
            return 0
        if protocol in (4, 41):
            return 0  # What is inside has fields of the same names.
        found_wrongs = list(wrongs(seen))
        if protocol not in _PROTOCOLS:
            # tshark may know what that carries.
            found_wrongs = [wrong for wrong in found_wrongs
                            if wrong not in _TRANSPORT_WRONGS]
        self.assertEqual(found_wrongs, [], frame)
        if layer not in _LAYERS:
            self.assertNotIn('ipv6', seen.at, frame)
            self.assertNotIn('ip', seen.at, frame)
            return 0
        self.assertEqual(l3_at, seen.at.get(_LAYERS[layer]), frame)
        self.assertEqual(trailer, len(seen.frame) - seen.end(), frame)
        self.assertEqual(bool(flags & _FRAGMENT), seen.is_fragment(), frame)
        if flags & _FRAGMENT or protocol not in _PROTOCOLS:
            return 0
        name = _PROTOCOLS[protocol][0]
        # tshark goes no further than a Routing header of a type or an option of
        # a length that it does not know.
        if name not in seen.at and ('ipv6.routing' in seen.at or
                                    (seen.number('ip.hdr_len') or 0) > 20):
            return 0
        self.assertEqual(l4_at, seen.at.get(name), frame)
        return 1

    def test_what_is_accepted_is_where_tshark_finds_it(self):
        transports = sum(self._check_accepted(found, seen)
                         for found, seen in zip(self.found, self.seen)
                         if found[0] == 'ok')
        self.assertGreater(transports, _FRAMES // 3)

    def test_what_is_refused_is_wrong_for_tshark_too(self):
        refused = 0
        for found, seen in zip(self.found, self.seen):
            if found[0] == 'ok':
                continue
            refused += 1
            self.assertTrue(
                _is_supported(found[0], seen, list(wrongs(seen))),
                f'{found} {seen.at} {list(wrongs(seen))} {seen.frame.hex()}')
        self.assertGreater(refused, _FRAMES // 10)


if __name__ == '__main__':
    script_main.main()
