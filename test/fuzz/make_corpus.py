#!/usr/bin/env python3
"""Writes the seed corpora of the fuzz targets below test/fuzz/corpus.

    test/fuzz/make_corpus.py

The same files every time. Inputs that a fuzzer found stand beside them under
names of their own.
"""

import os
import struct

import group_seeds
import packet_seeds

_HERE = os.path.dirname(os.path.realpath(__file__))

_MAC_A = bytes.fromhex('02000000000a')
_MAC_B = bytes.fromhex('02000000000b')
_GROUP = bytes.fromhex('01005e010101')


def _attr(specs=(), kind=0, priority=0, flags=0):
    """An ibv_flow_attr with its specs behind."""
    body = b''.join(specs)
    return struct.pack('=IIHHBBI', 0, kind, 20 + len(body), priority,
                       len(specs), 1, flags) + body


def _eth(dst=None, src=None, ether_type=None, tci=None, tci_mask=0xffff):
    def side(value):
        def field(given, size):
            if given is None:
                return bytes(size)
            return given if value else b'\xff' * size
        vlan = b'\0\0' if tci is None else struct.pack(
            '>H', tci if value else tci_mask)
        kind = None if ether_type is None else struct.pack('>H', ether_type)
        return field(dst, 6) + field(src, 6) + field(kind, 2) + vlan
    return struct.pack('=IHH', 0x20, 40, 0)[:6] + side(True) + side(False) + \
        b'\0\0'


def _ipv4(src, dst, mask=b'\xff' * 4):
    return struct.pack('=IHH', 0x30, 24, 0) + src + dst + mask + mask


def _ipv4_ext(src, dst, proto):
    return struct.pack('=IHH', 0x32, 32, 0) + src + dst + \
        bytes([proto, 0, 0, 0]) + b'\xff' * 9 + bytes(3)


def _ipv6(dst):
    return struct.pack('=IHH', 0x31, 88, 0) + bytes(16) + dst + bytes(8) + \
        bytes(16) + b'\xff' * 16 + bytes(8)


def _ports(kind, dst):
    return struct.pack('=IH', kind, 16) + struct.pack('>HH', dst, 0) + \
        b'\xff\xff\0\0' + b'\0\0'


def _tag(value):
    return struct.pack('=IHHI', 0x1000, 12, 0, value)


_DROP = struct.pack('=IHH', 0x1001, 8, 0)
_COUNT = struct.pack('=IHHQ', 0x1003, 16, 0, 1)


def _frame(dst, kind, payload):
    return dst + _MAC_B + struct.pack('>H', kind) + payload


def _udp4(dst_port, tail=b'weir'):
    ip = bytes([0x45, 0]) + struct.pack('>HHHBBH', 28 + len(tail), 0, 0, 64,
                                        17, 0)
    return ip + bytes([10, 0, 0, 1, 10, 0, 0, 2]) + \
        struct.pack('>HHHH', 1000, dst_port, 8 + len(tail), 0) + tail


def _udp6(dst_port):
    return bytes([0x60, 0, 0, 0, 0, 8, 17, 64]) + bytes(15) + b'\1' + \
        bytes(15) + b'\2' + struct.pack('>HHHH', 1000, dst_port, 8, 0)


def _step(step, body):
    assert len(body) < 256
    return bytes([step, len(body)]) + body


_A4 = bytes([10, 0, 0, 1])
_B4 = bytes([10, 0, 0, 2])
_B6 = bytes(15) + b'\2'
_FRAME4 = _step(2, _frame(_MAC_A, 0x0800, _udp4(2000)))
_FRAME6 = _step(2, _frame(_MAC_A, 0x86dd, _udp6(2000)))
_TAGGED = _step(2, _frame(_MAC_A, 0x8100, struct.pack('>HH', 7, 0x0800) +
                          _udp4(2000)))

_FLOW_SPEC = {
    'mac': [_step(0, _attr([_eth(dst=_MAC_A)])), _FRAME4, _FRAME6,
            _step(3, b'\0'), _FRAME4],
    'two_masks': [_step(0, _attr([_eth(dst=_MAC_A)])),
                  _step(1, _attr([_eth(src=_MAC_B)])), _FRAME4],
    'replication': [_step(0, _attr([_eth(dst=_MAC_A)])),
                    _step(1, _attr([_eth(dst=_MAC_A)])), _FRAME4],
    'vlan': [_step(0, _attr([_eth(tci=7, tci_mask=0x0fff)])), _TAGGED,
             _FRAME4],
    'five_tuple': [_step(0, _attr([_eth(), _ipv4(_A4, _B4),
                                   _ports(0x41, 2000)])), _FRAME4, _FRAME6],
    'extended': [_step(0, _attr([_ipv4_ext(_A4, _B4, 17)])), _FRAME4],
    'subnet': [_step(1, _attr([_ipv4(_A4, _B4, b'\xff\0\0\0')])), _FRAME4],
    'ipv6': [_step(0, _attr([_ipv6(_B6), _ports(0x41, 2000)])), _FRAME6,
             _FRAME4],
    'tcp': [_step(0, _attr([_ports(0x40, 2000)])), _FRAME4],
    'defaults': [_step(0, _attr(kind=1)), _step(1, _attr(kind=2)), _FRAME4,
                 _step(2, _frame(_GROUP, 0x0800, _udp4(5)))],
    'sniffer': [_step(0, _attr([_eth()])), _step(1, _attr(kind=3)), _FRAME4],
    'priorities': [_step(0, _attr([_eth()], priority=3)),
                   _step(1, _attr([_eth(dst=_MAC_A)], priority=2)), _FRAME4],
    'dont_trap': [_step(0, _attr([_eth(dst=_MAC_A)], flags=2)),
                  _step(1, _attr([_eth()])), _FRAME4],
    'tag': [_step(0, _attr([_eth(dst=_MAC_A), _tag(0xabcdef)])),
            _step(1, _attr([_eth(dst=_MAC_A), _tag(1)])), _FRAME4],
    'drop': [_step(0, _attr([_eth(dst=_MAC_A), _DROP])), _FRAME4],
    'count': [_step(0, _attr([_eth(dst=_MAC_A), _COUNT])), _FRAME4],
    'contradiction': [_step(0, _attr([_eth(ether_type=0x0806),
                                      _ipv4(_A4, _B4)])), _FRAME4],
    'inner': [_step(0, _attr([struct.pack('=IH', 0x120, 40) + bytes(34)]))],
    'dont_trap_default': [
        _step(0, _attr([struct.pack('=IH', 0x120, 40) + bytes(34)],
                       kind=2, flags=2))],
    'tunnel': [_step(0, _attr([struct.pack('=IH', 0x50, 16) + bytes(10)]))],
    'short_frame': [_step(0, _attr([_eth()])), _step(2, b'\1')],
    'egress': [_step(0, _attr([_eth()], flags=4))],
    'cut_spec': [_step(0, _attr([_eth(dst=_MAC_A)])[:-30])],
}


def _pcap(order, magic, records, link=1):
    head = struct.pack(order + 'IHHiIII', magic, 2, 4, 0, 0, 262144, link)
    return head + b''.join(
        struct.pack(order + 'IIII', second, part, len(frame), wire) + frame
        for second, part, frame, wire in records)


def _block(order, kind, body):
    body += bytes(-len(body) % 4)
    size = struct.pack(order + 'I', len(body) + 12)
    return struct.pack(order + 'I', kind) + size + body + size


def _section(order):
    return _block(order, 0x0a0d0d0a,
                  struct.pack(order + 'IHHq', 0x1a2b3c4d, 1, 0, -1))


def _interface(order, link=1, options=b''):
    return _block(order, 1, struct.pack(order + 'HHI', link, 0, 0) + options)


def _option(order, code, value):
    return struct.pack(order + 'HH', code, len(value)) + value + \
        bytes(-len(value) % 4)


def _enhanced(order, ticks, frame, interface=0):
    return _block(order, 6, struct.pack(
        order + 'IIIII', interface, ticks >> 32, ticks & 0xffffffff,
        len(frame), len(frame)) + frame)


_SHORT = _frame(_MAC_A, 0x0800, _udp4(2000))
_RECORDS = [(1, 2, _SHORT, len(_SHORT)), (3, 4, _SHORT[:20], len(_SHORT)),
            (5, 6, b'', 60)]
_NANO, _MICRO = 0xa1b23c4d, 0xa1b2c3d4

_CAPTURE_FILE = {
    'pcap_ns': _pcap('<', _NANO, _RECORDS),
    'pcap_us_big_endian': _pcap('>', _MICRO, _RECORDS),
    'pcap_cooked': _pcap('<', _MICRO, _RECORDS, link=113),
    'pcap_cut_in_head': _pcap('<', _MICRO, _RECORDS)[:30],
    'pcap_cut_in_frame': _pcap('<', _MICRO, _RECORDS[:1])[:-3],
    'pcap_huge_record': _pcap('<', _MICRO, [])
    + struct.pack('<IIII', 0, 0, 0xfffffff0, 0xfffffff0),
    'pcapng': _section('<') + _interface('<') + _enhanced('<', 10**6, _SHORT),
    'pcapng_big_endian': _section('>') + _interface('>')
    + _enhanced('>', 10**6, _SHORT),
    'pcapng_resolutions': _section('<')
    + _interface('<', options=_option('<', 9, b'\x09')
                 + _option('<', 14, struct.pack('<q', 1000)) + bytes(4))
    + _interface('<', options=_option('<', 9, b'\x94') + bytes(4))
    + _enhanced('<', 7, _SHORT) + _enhanced('<', 1 << 40, _SHORT, 1),
    'pcapng_two_sections': _section('<') + _interface('<')
    + _enhanced('<', 1, _SHORT) + _section('>') + _interface('>')
    + _enhanced('>', 2, _SHORT),
    'pcapng_simple': _section('<') + _interface('<')
    + _block('<', 3, struct.pack('<I', len(_SHORT)) + _SHORT),
    'pcapng_obsolete': _section('<') + _interface('<')
    + _block('<', 2, struct.pack('<HHIIII', 0, 0, 0, 9, len(_SHORT),
                                 len(_SHORT)) + _SHORT),
    'pcapng_foreign_interface': _section('<') + _interface('<', link=113)
    + _interface('<') + _enhanced('<', 1, _SHORT)
    + _enhanced('<', 2, _SHORT, 1),
    'pcapng_unknown_interface': _section('<') + _enhanced('<', 1, _SHORT),
    'pcapng_unknown_block': _section('<') + _block('<', 0xbad, b'abc')
    + _interface('<') + _enhanced('<', 1, _SHORT),
    'pcapng_size_zero': _section('<') + struct.pack('<II', 6, 0),
    'pcapng_sizes_differ': _section('<') + _interface('<')[:-4]
    + struct.pack('<I', 8),
    'empty': b'',
}


def _sges(*sges):
    # A request has four, whatever it says: a place, a length and a key each.
    filled = list(sges) + [(0, 8, 0)] * (4 - len(sges))
    return b''.join(bytes(sge) for sge in filled)


def _send(*requests):
    """Each (place in kSgeCounts, place in kOpcodes, flags, SGEs)."""
    return bytes([0, len(requests) - 1]) + b''.join(
        bytes([count, opcode, flags]) + _sges(*sges)
        for count, opcode, flags, sges in requests)


def _receive(*requests):
    """Each (place in kSgeCounts, [(length, key)])."""
    body = b''
    for count, sges in requests:
        filled = list(sges) + [(0, 0)] * (4 - len(sges))
        body += bytes([count]) + b''.join(bytes(sge) for sge in filled)
    return bytes([2, len(requests) - 1]) + body


_POLL_SENDS, _POLL_RECEIVES = b'\3', b'\4'
_POLL = _POLL_SENDS + _POLL_RECEIVES
_SIGNALED, _INLINE = 2, 8
_ONE, _NONE, _TWO, _MINUS, _MANY, _FOUR = 0, 3, 4, 5, 6, 7
_ROOM = (_ONE, [(0, 0)])
_PLAIN = (_ONE, 0, _SIGNALED, [(3, 8, 0)])


def _modify(queue_pair, state, odd=0):
    return bytes([5 + queue_pair, state, 0, odd])


_WORK_REQUEST = {
    'plain': _receive(_ROOM) + _send(_PLAIN) + _POLL,
    'lists': _receive(_ROOM, _ROOM, _ROOM) + _send(
        _PLAIN, (_ONE, 0, 0, [(7, 100, 0)]), _PLAIN) + _POLL,
    'gather': _receive(_ROOM) + _send(
        (_FOUR, 0, _SIGNALED, [(1, 4, 0), (9, 0, 251), (5, 60, 0),
                               (2, 9, 0)])) + _POLL,
    'scatter': _receive((_FOUR, [(129, 0), (128, 250), (135, 0), (0, 0)]))
    + _send((_ONE, 0, _SIGNALED, [(4, 50, 0)])) + _POLL,
    'inline': _receive(_ROOM) + _send(
        (_TWO, 0, _SIGNALED | _INLINE, [(4, 5, 251), (8, 3, 250)])) + _POLL,
    'inline_too_long': _send((_ONE, 0, _INLINE, [(4, 17, 0)])) + _POLL,
    'wrong_key': _receive(_ROOM) + _send(
        _PLAIN, (_ONE, 0, 0, [(4, 9, 251)]), _PLAIN) + _POLL,
    'wrong_receive_key': _receive((_ONE, [(0, 251)]), _ROOM)
    + _send(_PLAIN, _PLAIN) + _POLL,
    'short_buffer': _receive((_ONE, [(129, 0)]), _ROOM)
    + _send(_PLAIN, _PLAIN) + _POLL,
    'no_receive': _send(_PLAIN, _PLAIN) + _POLL + _receive(_ROOM) + _POLL,
    'no_sge': _send((_NONE, 0, 0, [])) + _receive((_NONE, [])) + _send(_PLAIN)
    + _POLL,
    'wrong_counts': _send(_PLAIN, (_MINUS, 0, 0, []))
    + _receive((_MANY, [])) + _send((_MANY, 0, 0, [])) + _POLL,
    'opcodes': b''.join(_send((_ONE, opcode, _SIGNALED, [(3, 8, 0)]))
                        for opcode in range(3, 9)) + _POLL,
    'too_long': _receive(_ROOM) + _send(
        (_FOUR, 0, _SIGNALED, [(0, 250, 0)] * 4)) + _POLL,
    'wraps': _send((_ONE, 0, _SIGNALED, [(0, 9, 255)])) + _POLL,
    'huge': _send((_TWO, 0, _SIGNALED, [(0, 9, 254), (0, 9, 254)])) + _POLL,
    'reset_with_backlog': _send(_PLAIN, _PLAIN, _PLAIN) * 30 + _modify(0, 0)
    + _modify(0, 1) + _modify(0, 2) + _modify(0, 3) + _receive(_ROOM)
    + _send(_PLAIN) + _POLL,
    'error_and_back': _receive(_ROOM, _ROOM) + _modify(1, 6) + _send(_PLAIN)
    + _POLL + _modify(1, 0) + _modify(1, 1) + _modify(1, 2) + _receive(_ROOM)
    + _send(_PLAIN) + _POLL,
    'odd_masks': b''.join(_modify(i % 2, i % 8, 128 + i) for i in range(24)),
}


def _write(target, inputs):
    folder = os.path.join(_HERE, 'corpus', target)
    os.makedirs(folder, exist_ok=True)
    for name, content in inputs.items():
        with open(os.path.join(folder, name), 'wb') as file:
            file.write(content)


def main():
    _write('flow_spec',
           {name: b''.join(steps) for name, steps in _FLOW_SPEC.items()})
    _write('capture_file', _CAPTURE_FILE)
    _write('checksum', packet_seeds.CHECKSUM)
    _write('parse', {name: b'\xa8' + frame for name, frame in packet_seeds.PARSE.items()})
    _write('membership', group_seeds.membership())
    _write('relay', group_seeds.relay())
    _write('work_request', _WORK_REQUEST)
    _write('reassemble', packet_seeds.REASSEMBLE)
    _write('fragment', packet_seeds.FRAGMENT)


if __name__ == '__main__':
    main()
