"""Frames and capture files for tests, made without any code of weir.

Formats: pcap (https://datatracker.ietf.org/doc/draft-ietf-opsawg-pcap) and
pcapng (draft-ietf-opsawg-pcapng), Ethernet only.
"""

import random
import socket
import struct

_ETHERNET = 1
_MAC_A = bytes.fromhex('02000000000a')
_MAC_B = bytes.fromhex('02000000000b')
_SNAP_LENGTH = 262144


def _checksum(data):
    """The Internet checksum, by division (RFC 1071 works modulo 65535)."""
    data += b'\0' * (len(data) % 2)
    total = sum(struct.unpack(f'>{len(data) // 2}H', data))
    return 65535 - total % 65535


def ethernet(ether_type, payload, tags=()):
    """A frame with the VLAN tags `tags`, outermost first: (TPID, TCI)."""
    header = _MAC_B + _MAC_A
    header += b''.join(struct.pack('>HH', *tag) for tag in tags)
    return header + struct.pack('>H', ether_type) + payload


def ipv4(payload, identification=0, fragment=0):
    """A datagram of UDP; `fragment` is the flags and offset word."""
    addresses = socket.inet_aton('10.0.0.1') + socket.inet_aton('10.0.0.2')
    start = struct.pack('>BBHHHBB', 0x45, 0, 20 + len(payload), identification,
                        fragment, 64, socket.IPPROTO_UDP)
    checksum = _checksum(start + b'\0\0' + addresses)
    return start + struct.pack('>H', checksum) + addresses + payload


def ipv6(payload, next_header=socket.IPPROTO_UDP):
    """A packet without extension headers other than what `payload` has."""
    return struct.pack('>IHBB', 6 << 28, len(payload), next_header, 64) + (
        socket.inet_pton(socket.AF_INET6, '2001:db8::1') +
        socket.inet_pton(socket.AF_INET6, '2001:db8::2') + payload)


def udp(payload):
    """A UDP header without checksum and `payload`."""
    return struct.pack('>HHHH', 1000, 2000, 8 + len(payload), 0) + payload


def udp_frame(size, seed, tags=()):
    """An IPv4 frame of exactly `size` bytes, 46 at least with two tags."""
    overhead = 14 + 4 * len(tags) + 20 + 8
    payload = random.Random(seed).randbytes(size - overhead)
    return ethernet(0x0800, ipv4(udp(payload), seed & 0xffff), tags)


def all_sizes():
    """64 bytes to 9000, odd lengths and the borders of buffers among them."""
    sizes = [64, 65, 66, 67, 127, 128, 129, 255, 511, 512, 513, 1023, 1279,
             1499, 1500, 1514, 1515, 1518, 1522]
    sizes += [edge + step for edge in (1920, 2048, 4096, 6144, 8192)
              for step in (-65, -64, -1, 0, 1, 63, 64)]
    sizes += [8999, 9000]
    return [udp_frame(size, seed) for seed, size in enumerate(sizes)]


def tagged():
    """VLAN, priority-tagged and QinQ frames."""
    frames = []
    for size in (64, 65, 1518, 9000):
        frames += [udp_frame(size, size, [(0x8100, 7)]),
                   udp_frame(size, size + 1, [(0x8100, 0xe000)]),
                   udp_frame(size, size + 2, [(0x88a8, 100), (0x8100, 0x2fff)])]
    return frames


def version6():
    """IPv6: plain, and the fragments of one packet."""
    data = random.Random(6).randbytes(3000)
    frames = [ethernet(0x86dd, ipv6(udp(data[:size])))
              for size in (0, 1, 100, 1452)]
    datagram = udp(data)
    for start in range(0, len(datagram), 1448):
        part = datagram[start:start + 1448]
        more = start + len(part) < len(datagram)
        header = struct.pack('>BBHI', socket.IPPROTO_UDP, 0, start | more, 99)
        frames.append(ethernet(0x86dd, ipv6(header + part, 44)))
    return frames


def fragments():
    """The fragments of two IPv4 datagrams, interleaved."""
    frames = []
    datagrams = [udp(random.Random(seed).randbytes(8000)) for seed in (4, 5)]
    for start in range(0, len(datagrams[0]), 1480):
        for identification, datagram in enumerate(datagrams):
            part = datagram[start:start + 1480]
            more = 0x2000 if start + len(part) < len(datagram) else 0
            frames.append(ethernet(
                0x0800, ipv4(part, identification, start // 8 | more)))
    return frames


def runts():
    """Frames below the 60 bytes of Ethernet, down to a bare header."""
    return [ethernet(0x88b5, bytes(range(size - 14))) for size in range(14, 60)]


def many(count=100_000):
    """A long run of short frames, every one different."""
    body = bytes(range(256))
    return [ethernet(0x88b5, struct.pack('>I', number) + body[:46 + number % 97])
            for number in range(count)]


def write_pcap(path, frames, order='<', nanoseconds=False):
    """Writes a pcap file in byte order '<' or '>'."""
    magic = 0xa1b23c4d if nanoseconds else 0xa1b2c3d4
    with open(path, 'wb') as file:
        file.write(struct.pack(order + 'IHHiIII', magic, 2, 4, 0, 0,
                               _SNAP_LENGTH, _ETHERNET))
        for number, frame in enumerate(frames):
            file.write(struct.pack(order + 'IIII', number // 1000, number % 1000,
                                   len(frame), len(frame)))
            file.write(frame)


def _block(order, block_type, body):
    """A block of pcapng, padded to 32 bits."""
    body += b'\0' * (-len(body) % 4)
    size = len(body) + 12
    return (struct.pack(order + 'II', block_type, size) + body +
            struct.pack(order + 'I', size))


def write_pcapng(path, frames, order='<', nanoseconds=False):
    """Writes a pcapng file: one section, one interface, enhanced packets."""
    options = b''
    if nanoseconds:  # if_tsresol = 10^-9
        options = struct.pack(order + 'HHB3xHH', 9, 1, 9, 0, 0)
    with open(path, 'wb') as file:
        file.write(_block(order, 0x0a0d0d0a,
                          struct.pack(order + 'IHHq', 0x1a2b3c4d, 1, 0, -1)))
        file.write(_block(order, 1, struct.pack(order + 'HHI', _ETHERNET, 0,
                                                _SNAP_LENGTH) + options))
        # A block that readers have to step over: a custom one.
        file.write(_block(order, 0x40000bad, b'\0\0\0\0weir'))
        for number, frame in enumerate(frames):
            file.write(_block(order, 6, struct.pack(
                order + 'IIIII', 0, 0, number, len(frame), len(frame)) + frame))


def read_pcap(path):
    """The frames of a pcap file in any byte order and resolution."""
    with open(path, 'rb') as file:
        data = file.read()
    for order in '<>':
        if struct.unpack_from(order + 'I', data)[0] in (0xa1b2c3d4, 0xa1b23c4d):
            break
    else:
        raise ValueError(f'{path}: no pcap file: {data[:4].hex()}')
    frames = []
    position = 24
    while position < len(data):
        _, _, captured, original = struct.unpack_from(order + 'IIII', data,
                                                      position)
        position += 16
        frame = data[position:position + captured]
        if len(frame) != captured or captured != original:
            raise ValueError(f'{path}: frame {len(frames)} is cut')
        frames.append(frame)
        position += captured
    return frames
