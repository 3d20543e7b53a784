"""Seeds of the fuzz targets that take packets; make_corpus.py writes them."""

import struct

_MAC_A = bytes.fromhex('02000000000a')
_MAC_B = bytes.fromhex('02000000000b')
_A4 = bytes([10, 0, 0, 1])
_B4 = bytes([10, 0, 0, 2])
_B6 = bytes(15) + b'\2'


def _frame(dst, kind, payload):
    return dst + _MAC_B + struct.pack('>H', kind) + payload


def _packet4(protocol, payload, options=b'', fragment=0):
    head = bytes([0x45 + len(options) // 4, 0]) + struct.pack(
        '>HHHBBH', 20 + len(options) + len(payload), 7, fragment, 64, protocol,
        0)
    return head + _A4 + _B4 + options + payload


def _packet6(following, payload):
    return bytes([0x60, 0, 0, 0]) + struct.pack('>HBB', len(payload), following,
                                                64) + bytes(31) + b'\1' + payload


def _extension(following, body):
    return bytes([following, len(body) // 8]) + body


_PAD6 = b'\1\4\0\0\0\0'
_UDP = struct.pack('>HHHH', 1, 2, 12, 9) + b'weir'
_TCP = struct.pack('>HHIIBBHHH', 1, 2, 3, 4, 0x60, 16, 9, 0, 0) + b'\1\1\1\0'


def _tunnel(port, header):
    return _packet4(17, struct.pack('>HHHH', 1, port, 8 + len(header), 0) + header)


def _ip4(payload):
    return _frame(_MAC_A, 0x0800, payload)


def _ip6(payload):
    return _frame(_MAC_A, 0x86dd, payload)


# Each in segments of 16 and 20 bytes.
PARSE = {
    'udp4': _ip4(_packet4(17, _UDP)) + bytes(14),
    'tcp4': _ip4(_packet4(6, _TCP + bytes(9))),
    'options4': _ip4(_packet4(17, _UDP, b'\x94\4\0\0\1\1\7\2')),
    'fragment4': _ip4(_packet4(17, bytes(16), fragment=0x2001)),
    'tiny4': _ip4(_packet4(6, bytes(8), fragment=0x2000)),
    'icmp4': _ip4(_packet4(1, bytes(8))),
    'igmp3': _ip4(_packet4(2, b'\x11' + bytes(11))),
    'sctp4': _ip4(_packet4(132, bytes(16))),
    'udp_lite': _ip4(_packet4(136, bytes(4) + b'\0\10' + bytes(6))),
    'gre': _ip4(_packet4(47, b'\xb0\0\x65\x58' + bytes(20))),
    'vxlan': _ip4(_tunnel(4789, b'\10' + bytes(20))),
    'geneve': _ip4(_tunnel(6081, b'\1\0\x65\x58' + bytes(12))),
    'tcp6': _ip6(_packet6(6, _TCP)),
    'icmp6': _ip6(_packet6(58, b'\x80' + bytes(7))),
    'mld': _ip6(_packet6(0, _extension(58, b'\5\2\0\0\1\0') + b'\x82'
                      + bytes(23))),
    'chain6': _ip6(_packet6(0, _extension(60, _PAD6) + _extension(43, _PAD6)
                         + _extension(
                             51, b'\0\1\0\0' + bytes(6) + _PAD6[:2])
                         + _extension(17, b'\0\0' + bytes(20))
                         + _UDP)),
    'routing6': _ip6(_packet6(43, _extension(17, b'\0\1' + bytes(20)) + _UDP)),
    'segments6': _ip6(_packet6(43, _extension(17, b'\4\1\1' + bytes(35)) + _UDP)),
    'jumbo6': _ip6(_packet6(0, _extension(17, b'\xc2\4\0\1\0\0') + _UDP)),
    'fragment6': _ip6(_packet6(44, bytes([17, 0, 0, 9, 0, 0, 0, 1]) + bytes(16))),
    'first6': _ip6(_packet6(44, bytes([60, 0, 0, 1, 0, 0, 0, 1])
                         + _extension(6, _PAD6) + _TCP)),
    'atomic6': _ip6(_packet6(44, bytes([17, 0, 0, 0, 0, 0, 0, 1]) + _UDP)),
    'none6': _ip6(_packet6(59, b'')),
    'tags': _frame(_MAC_A, 0x88a8, struct.pack('>HHHH', 1, 0x8100, 2, 0x0800)
                   + _packet4(17, _UDP)),
    'old_tags': _frame(_MAC_A, 0x9100, struct.pack('>HH', 1, 0x86dd)
                       + _packet6(17, _UDP)),
    'labels': _frame(_MAC_A, 0x8847, b'\0\1\0\1\0\1\1\1' + _packet4(17, _UDP)),
    'explicit_null': _frame(_MAC_A, 0x8848, b'\0\0\x21\1' + _packet6(17, _UDP)),
    'snap': _frame(_MAC_A, 8 + 32, b'\xaa\xaa\3\0\0\0\10\0'
                   + _packet4(17, _UDP) + bytes(6)),
    'arp': _frame(_MAC_A, 0x0806, b'\0\1\10\0\6\4\0\1' + bytes(20)),
}

# With right checksums, the transport header in four segments; as they are.
CHECKSUM = {
    name: b'\1\3\5\1\7' + PARSE[name]
    for name in ('udp4', 'tcp4', 'options4', 'fragment4', 'icmp4', 'igmp3',
                 'sctp4', 'udp_lite', 'tcp6', 'icmp6', 'mld', 'routing6',
                 'segments6', 'atomic6', 'fragment6', 'none6', 'tags')
}
CHECKSUM.update({
    name + '_wrong': b'\0\0' + PARSE[name]
    for name in ('udp4', 'tcp4', 'sctp4', 'udp_lite', 'icmp6', 'chain6')
})


def _piece(key, begin, units=1, last=False, other=False, step=0, far=False,
           trailer=0):
    """A fragment; `units` are bytes of the last one, else eight times that."""
    head = key | last << 3 | other << 4 | far << 5 | step << 6
    return bytes([head, begin, units - 1, trailer])


def _both(program, tight=False):
    """Under both versions of IP."""
    return {f'_v{version}': bytes([(version == 6) | tight << 1]) + program
            for version in (4, 6)}


def _reassemble(name, program, tight=False):
    return {name + version: content
            for version, content in _both(program, tight).items()}


REASSEMBLE = {
    **_reassemble('in_order', b''.join(
        _piece(1, i * 8, 8) for i in range(9)) + _piece(1, 72, 5, True)),
    **_reassemble('backwards', _piece(2, 80, 3, True) + b''.join(
        _piece(2, i, 1) for i in reversed(range(80)))),
    **_reassemble('copies', _piece(3, 0, 2) * 3 + _piece(3, 2, 9, True) * 2),
    **_reassemble('other_bytes', _piece(3, 0, 2) + _piece(3, 0, 2, other=True)
                  + _piece(3, 2, 9, True)),
    **_reassemble('overlap', _piece(4, 0, 4) + _piece(4, 3, 4)
                  + _piece(4, 7, 1, True) + _piece(4, 0, 4, step=3)
                  + _piece(4, 4, 1, True, step=2)),
    **_reassemble('two_ends', _piece(5, 9, 8, True) + _piece(5, 20, 8, True)),
    **_reassemble('timeout', _piece(6, 0, 4) + _piece(6, 4, 7, True, step=3)
                  + _piece(7, 0, 4) + _piece(7, 4, 7, True, step=2)),
    **_reassemble('far', _piece(0, 127, 60, far=True)
                  + _piece(0, 127, 9, True, far=True)),
    **_reassemble('padded', _piece(0, 0, 1, trailer=26)
                  + _piece(0, 1, 1, True, trailer=25)),
    **_reassemble('crowd', b''.join(
        _piece(i % 8, i, 2) for i in range(0, 64, 2)), tight=True),
    **_reassemble('too_many', b''.join(
        _piece(1, i, 1) for i in range(12)), tight=True),
}


def _fragment(frame, flags, more):
    """`frame` and 40 times `more` bytes, in segments of 1070 bytes."""
    return bytes([flags, 10, 150, 152, more]) + frame


# Of fragment_fuzz.cc: MTU 1280, router, segments, the length is made right.
_IPV6_MTU, _ROUTER, _SEGMENTS, _RIGHT_LENGTH = 1, 2, 16, 32

FRAGMENT = {
    name + suffix: _fragment(frame, flags | _SEGMENTS | _RIGHT_LENGTH, more)
    for name, frame in PARSE.items()
    if name in ('udp4', 'options4', 'fragment4', 'chain6', 'routing6', 'first6',
                'snap')
    for suffix, flags, more in (('_host', 0, 30), ('_router', _ROUTER, 30),
                                ('_host_1280', _IPV6_MTU, 100),
                                ('_router_1280', _IPV6_MTU | _ROUTER, 100))
}
