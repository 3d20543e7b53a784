"""Packets with right checksums, their fragments and captures with times: made
without any code of weir, so that a test may trust them.
"""

import hashlib
import socket
import struct

import captures

SOURCE4, TARGET4 = '192.0.2.10', '192.0.2.1'
SOURCE6, TARGET6 = '2001:db8::10', '2001:db8::1'
# 2023-11-14, 22:13:20 UTC.
EPOCH_NS = 1_700_000_000_000_000_000


def checksum(data):
    """The Internet checksum, by division (RFC 1071 works modulo 65535)."""
    data += b'\0' * (len(data) % 2)
    total = sum(struct.unpack(f'>{len(data) // 2}H', data))
    return 65535 - (total % 65535 or (65535 if total else 0))


def _pseudo4(protocol, length, source, target):
    return (socket.inet_aton(source) + socket.inet_aton(target) +
            struct.pack('>BBH', 0, protocol, length))


def _pseudo6(protocol, length, source, target):
    return (socket.inet_pton(socket.AF_INET6, source) +
            socket.inet_pton(socket.AF_INET6, target) +
            struct.pack('>II', length, protocol))


def _with_checksum(segment, offset, pseudo):
    value = checksum(pseudo + segment)
    return segment[:offset] + struct.pack('>H', value) + segment[offset + 2:]


def udp(payload, sport=4000, dport=5000, family=4):
    """A UDP datagram from SOURCE to TARGET (RFC 768)."""
    segment = struct.pack('>HHHH', sport, dport, 8 + len(payload), 0) + payload
    pseudo = (_pseudo4(17, len(segment), SOURCE4, TARGET4) if family == 4 else
              _pseudo6(17, len(segment), SOURCE6, TARGET6))
    # A sum of 0 is sent as 0xffff.
    whole = _with_checksum(segment, 6, pseudo)
    return whole if whole[6:8] != b'\0\0' else whole[:6] + b'\xff\xff' + whole[8:]


def tcp(payload, sport=4000, dport=5000):
    """A TCP segment over IPv4 (RFC 9293)."""
    segment = struct.pack('>HHIIBBHHH', sport, dport, 1, 2, 5 << 4, 0x18, 8192, 0,
                          0) + payload
    return _with_checksum(segment, 16,
                          _pseudo4(6, len(segment), SOURCE4, TARGET4))


def icmp(payload):
    """An echo request (RFC 792)."""
    return _with_checksum(struct.pack('>BBHHH', 8, 0, 0, 7, 1) + payload, 2, b'')


def ipv4(payload, protocol=17, identification=1, fragment=0, options=b''):
    """An IPv4 packet; `fragment` is the word of flags and offset (RFC 791)."""
    header = struct.pack('>BBHHHBBH4s4s', 0x40 | 5 + len(options) // 4, 0,
                         20 + len(options) + len(payload), identification,
                         fragment, 64, protocol, 0, socket.inet_aton(SOURCE4),
                         socket.inet_aton(TARGET4)) + options
    return _with_checksum(header, 10, b'') + payload


def ipv6(payload, next_header=17):
    """An IPv6 packet (RFC 8200)."""
    return struct.pack('>IHBB', 6 << 28, len(payload), next_header, 64) + (
        socket.inet_pton(socket.AF_INET6, SOURCE6) +
        socket.inet_pton(socket.AF_INET6, TARGET6) + payload)


def frame(packet, tags=()):
    """An Ethernet frame of an IP packet, padded to 60 bytes."""
    ether_type = 0x0800 if packet[0] >> 4 == 4 else 0x86dd
    return captures.ethernet(ether_type, packet, tags).ljust(60, b'\xaa')


def fragments4(payload, size, identification=7, protocol=17):
    """The packets of a datagram cut every `size` bytes, a multiple of 8."""
    pieces = [payload[at:at + size] for at in range(0, len(payload), size)]
    more = [0x2000] * (len(pieces) - 1) + [0]
    return [ipv4(piece, protocol, identification, flag | at * size // 8)
            for at, (piece, flag) in enumerate(zip(pieces, more))]


def fragments6(payload, size, identification=7, protocol=17):
    """The same for IPv6 (RFC 8200 section 4.5)."""
    pieces = [payload[at:at + size] for at in range(0, len(payload), size)]
    more = [1] * (len(pieces) - 1) + [0]
    return [ipv6(struct.pack('>BBHI', protocol, 0, at * size | flag,
                             identification) + piece, 44)
            for at, (piece, flag) in enumerate(zip(pieces, more))]


def write_capture(path, frames, step_ns=1_000_000, wire_bytes=None):
    """A pcap with nanoseconds, `step_ns` from frame to frame. `frames` may have
    (frame, nanoseconds after the first) in place of a frame; `wire_bytes` maps
    the number of a frame, from 0, to its length on the wire."""
    with open(path, 'wb') as file:
        file.write(struct.pack('<IHHiIII', 0xa1b23c4d, 2, 4, 0, 0, 262144, 1))
        for number, item in enumerate(frames):
            data, after = (item if isinstance(item, tuple) else
                           (item, number * step_ns))
            seconds, nanoseconds = divmod(EPOCH_NS + after, 10**9)
            wire = (wire_bytes or {}).get(number, len(data))
            file.write(struct.pack('<IIII', seconds, nanoseconds, len(data), wire))
            file.write(data)


def sha256(data):
    return hashlib.sha256(data).hexdigest()
