"""Random frames for tests against other parsers: valid ones, and such with a
few bytes changed or cut off.
"""

import struct

_MACS = bytes.fromhex('02000000000a02000000000b')
_A4, _B4 = bytes([192, 0, 2, 1]), bytes([192, 0, 2, 2])
_A6 = bytes.fromhex('20010db8') + bytes(11) + b'\x01'
_B6 = bytes.fromhex('20010db8') + bytes(11) + b'\x02'
_TCP, _UDP, _ICMP, _ICMP6, _SCTP, _GRE, _UDP_LITE = 6, 17, 1, 58, 132, 47, 136
_HOP_BY_HOP, _ROUTING, _FRAGMENT, _DESTINATION = 0, 43, 44, 60


def _port(random):
    # Where nobody has a protocol of their own.
    return random.randrange(40000, 40400)


def _transport(random, protocol):
    """Header and payload; checksums are anything."""
    data = random.randbytes(random.randrange(64))
    ports = struct.pack('>HH', _port(random), _port(random))
    if protocol == _TCP:
        # No-operations as options.
        options = bytes([1]) * (4 * random.randrange(4))
        return ports + random.randbytes(8) + struct.pack(
            '>BBHHH', (5 + len(options) // 4) << 4, 0x10, 512, 7, 0) + \
            options + data
    if protocol == _UDP:
        return ports + struct.pack('>HH', 8 + len(data), 7) + data
    if protocol == _UDP_LITE:
        return ports + struct.pack('>HH', 0, 7) + data
    if protocol == _SCTP:
        # One DATA chunk (RFC 9260 §3.3.1).
        chunk = struct.pack('>BBH', 0, 3, 16 + len(data)) + bytes(12) + data
        return ports + bytes(8) + chunk + bytes(-len(chunk) % 4)
    if protocol == _ICMP:
        return struct.pack('>BBHHH', 8, 0, 7, 1, 2) + data
    if protocol == _ICMP6:
        return struct.pack('>BBHHH', 128, 0, 7, 1, 2) + data
    # GRE with a key, a type for experiments inside.
    return struct.pack('>HHI', 0x2000, 0x88b5, 7) + data


def _ipv4(random):
    protocol = random.choice([_TCP, _UDP, _ICMP, _SCTP, _GRE, _UDP_LITE])
    payload = _transport(random, protocol)
    fragment = 0
    kind = random.random()
    if kind < 0.1:
        fragment = 0x2000
        payload += bytes(-len(payload) % 8)
    elif kind < 0.2:
        fragment = random.choice([0x2000, 0]) | random.randrange(3, 2000)
        payload += bytes(-len(payload) % 8)
    elif kind < 0.3:
        fragment = 0x4000
    options = random.choice([b'', b'', b'', b'\x94\x04\0\0', b'\1\1\1\1\1\1\1\0'])
    head = struct.pack('>BBHHHBBH', 0x45 + len(options) // 4, 0,
                       20 + len(options) + len(payload), random.randrange(65536),
                       fragment, 64, protocol, 0)
    return 0x0800, head + _A4 + _B4 + options + payload


def _ipv6(random):
    last = random.choice([_TCP, _UDP, _ICMP6, _SCTP, _GRE, _UDP_LITE])
    payload = _transport(random, last)
    chain = []
    if random.random() < 0.2:
        chain.append((_HOP_BY_HOP, b'\5\2\0\0\1\0'))
    while random.random() < 0.3:
        units = random.randrange(3)
        chain.append((_DESTINATION, bytes([1, 4 + 8 * units]) +
                      bytes(4 + 8 * units)))
    if random.random() < 0.1:
        chain.append((_ROUTING, bytes([0, 1, 0, 0, 0, 0]) + _A6))
    fragment = random.random()
    if fragment < 0.2:
        offset = 8 * random.randrange(10, 4000) if fragment < 0.1 else 0
        more = random.randrange(2)
        if more:
            payload += bytes(-len(payload) % 8)
        chain.append((_FRAGMENT, struct.pack('>HI', offset | more, 7)))
    after = [kind for kind, _ in chain[1:]] + [last]
    for (kind, body), following in reversed(list(zip(chain, after))):
        units = 0 if kind == _FRAGMENT else (len(body) + 2) // 8 - 1
        payload = bytes([following, units]) + body + payload
    first = chain[0][0] if chain else last
    return 0x86dd, b'\x60\0\0\0' + struct.pack(
        '>HBB', len(payload), first, 64) + _A6 + _B6 + payload


def valid(random):
    """A frame with nothing wrong in it."""
    kind, packet = random.choice([_ipv4, _ipv6])(random)
    front = b''
    for _ in range(random.choice([0, 0, 0, 1, 1, 2, 3])):
        front += struct.pack('>HH', random.choice([0x8100, 0x88a8]),
                             random.randrange(1, 4095))
    layer = random.random()
    if layer < 0.1:
        labels = random.randrange(1, 4)
        stack = b''.join(
            struct.pack('>I', random.randrange(16, 1 << 20) << 12 |
                        (0x100 if i == labels - 1 else 0) | 64)
            for i in range(labels))
        kind, packet = 0x8847, stack + packet
    elif layer < 0.2 and front[-4:-2] != b'\x88\xa8':
        packet = b'\xaa\xaa\3\0\0\0' + struct.pack('>H', kind) + packet
        kind = len(packet)
    frame = _MACS + front + struct.pack('>H', kind) + packet
    return frame + bytes(max(0, 60 - len(frame)))


def changed(random):
    """A valid frame with something changed behind the addresses."""
    frame = bytearray(valid(random))
    if random.random() < 0.3:
        return bytes(frame[:random.randrange(14, len(frame))])
    for _ in range(random.randrange(1, 3)):
        frame[random.randrange(14, min(len(frame), 90))] = random.randrange(256)
    return bytes(frame)
