"""Messages of IGMP and MLD, made and read without any code of weir, and what
is on a netdev of another namespace."""

import collections
import socket
import struct
import subprocess
import sys
import threading
import time

PATIENCE_SECONDS = 30

# Prints every frame of a netdev, both ways, in hexadecimal, with the time. The
# kernel hands tags over beside the frame (<linux/if_packet.h>: PACKET_AUXDATA of
# SOL_PACKET, TP_STATUS_VLAN_VALID); they go back to where they were.
_SNIFFER = '''
import socket, struct, sys, time
tap = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
tap.setsockopt(263, 8, 1)
tap.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16 << 20)
tap.bind((sys.argv[1], 0))
print('ready', flush=True)
while True:
    try:
        frame, ancillary, _, address = tap.recvmsg(65536, 64)
    except OSError:
        # The link went; it may come again.
        continue
    for level, kind, data in ancillary:
        if (level, kind) == (263, 8):
            status, _, _, _, _, tci, _ = struct.unpack('=IIIHHHH', data)
            if status & 16:
                frame = frame[:12] + struct.pack('>HH', 0x8100, tci) + frame[12:]
    way = 'out' if address[2] == socket.PACKET_OUTGOING else 'in'
    print(time.monotonic(), way, frame.hex(), flush=True)
'''

# A report or a leave: who is told, how, and what. `records` of IGMPv3 and MLDv2
# are (type, group, sources); those of older versions have the type of the
# message in place of that of a record.
Message = collections.namedtuple(
    'Message', 'time mac source destination hops alert type records')


def checksum(data):
    """By division (RFC 1071 works modulo 65535)."""
    data += b'\0' * (len(data) % 2)
    total = sum(struct.unpack(f'>{len(data) // 2}H', data))
    return 65535 - total % 65535


def _ipv4(data):
    return socket.inet_ntop(socket.AF_INET, data)


def _ipv6(data):
    return socket.inet_ntop(socket.AF_INET6, data)


def _records(data, count, size, text):
    records = []
    for _ in range(count):
        kind, _, sources = struct.unpack_from('>BBH', data)
        group = text(data[4:4 + size])
        ends = [4 + size * (i + 1) for i in range(sources)]
        records.append((kind, group,
                        tuple(text(data[end:end + size]) for end in ends)))
        data = data[4 + size * (1 + sources):]
    assert not data, 'bytes behind the records'
    return records


def read_igmp(when, frame):
    """What a host says by IGMP in `frame`; nothing if it is anything else."""
    at = 18 if frame[12:14] == b'\x81\x00' else 14
    if frame[at - 2:at] != b'\x08\x00' or frame[at + 9] != 2:
        return None
    header = 4 * (frame[at] & 15)
    total = struct.unpack_from('>H', frame, at + 2)[0]
    message = frame[at + header:at + total]
    assert checksum(frame[at:at + header]) in (0, 65535), 'header checksum'
    assert checksum(message) in (0, 65535), 'IGMP checksum'
    kind = message[0]
    if kind == 0x11:
        return None
    if kind == 0x22:
        count = struct.unpack_from('>H', message, 6)[0]
        records = _records(message[8:], count, 4, _ipv4)
    else:
        records = [(kind, _ipv4(message[4:8]), ())]
    return Message(when, frame[:6].hex(':'), _ipv4(frame[at + 12:at + 16]),
                   _ipv4(frame[at + 16:at + 20]), frame[at + 8],
                   # RFC 2113.
                   frame[at + 20:at + header] == bytes.fromhex('94040000'),
                   kind, records)


def read_mld(when, frame):
    """The same by MLD."""
    at = 18 if frame[12:14] == b'\x81\x00' else 14
    # Hop-by-hop, as RFC 3810 §5 has it: with Router Alert, 8 bytes.
    if frame[at - 2:at] != b'\x86\xdd' or frame[at + 6] != 0:
        return None
    size = struct.unpack_from('>H', frame, at + 4)[0]
    options = frame[at + 40:at + 48]
    message = frame[at + 48:at + 40 + size]
    if options[0] != 58 or message[0] not in (131, 132, 143):
        return None
    pseudo = frame[at + 8:at + 40] + struct.pack('>IHBB', len(message), 0, 0, 58)
    assert checksum(pseudo + message) in (0, 65535), 'MLD checksum'
    if message[0] == 143:
        count = struct.unpack_from('>H', message, 6)[0]
        records = _records(message[8:], count, 16, _ipv6)
    else:
        records = [(message[0], _ipv6(message[8:24]), ())]
    return Message(when, frame[:6].hex(':'), _ipv6(frame[at + 8:at + 24]),
                   _ipv6(frame[at + 24:at + 40]), frame[at + 7],
                   # RFC 2711: type 5, length 2, value 0 (MLD).
                   bytes.fromhex('05020000') in options, message[0], records)


def group_mac(group):
    """RFC 1112 §6.4, RFC 2464 §7."""
    if ':' in group:
        return b'\x33\x33' + socket.inet_pton(socket.AF_INET6, group)[12:]
    low = struct.unpack('>I', socket.inet_aton(group))[0] & 0x7fffff
    return b'\x01\x00\x5e' + struct.pack('>I', low)[1:]


def igmp_query(group='', max_response=10, version=3, sources=(), source='192.0.2.2'):
    """A frame; `max_response` in tenths of a second (RFC 3376 §4.1)."""
    target = socket.inet_aton(group or '0.0.0.0')
    message = struct.pack('>BBH', 0x11, 0 if version == 1 else max_response,
                          0) + target
    if version == 3:
        # Robustness 2, interval 125 s.
        message += struct.pack('>BBH', 2, 125, len(sources))
        message += b''.join(socket.inet_aton(each) for each in sources)
    message = message[:2] + struct.pack('>H', checksum(message)) + message[4:]
    to = group or '224.0.0.1'
    header = struct.pack('>BBHHHBBH', 0x46, 0xc0, 24 + len(message), 1, 0, 1, 2,
                         0)
    header += socket.inet_aton(source) + socket.inet_aton(to)
    header += bytes.fromhex('94040000')
    header = header[:10] + struct.pack('>H', checksum(header)) + header[12:]
    frame = group_mac(to) + bytes.fromhex('020000000002' '0800') + header
    return (frame + message).ljust(60, b'\0')


def mld_query(group='::', max_response_ms=1000, source='fe80::2'):
    """Of MLDv2 (RFC 3810 §5.1)."""
    to = 'ff02::1' if group == '::' else group
    addresses = (socket.inet_pton(socket.AF_INET6, source) +
                 socket.inet_pton(socket.AF_INET6, to))
    message = struct.pack('>BBHHH', 130, 0, 0, max_response_ms, 0)
    message += socket.inet_pton(socket.AF_INET6, group)
    message += struct.pack('>BBH', 2, 125, 0)
    pseudo = addresses + struct.pack('>IHBB', len(message), 0, 0, 58)
    message = (message[:2] + struct.pack('>H', checksum(pseudo + message)) +
               message[4:])
    header = struct.pack('>IHBB', 6 << 28, 8 + len(message), 0, 1) + addresses
    alert = bytes.fromhex('3a00' '05020000' '0100')
    return (group_mac(to) + bytes.fromhex('020000000002' '86dd') + header +
            alert + message)


def wait_until(condition, what):
    """The first value of `condition()` that is true."""
    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.01)
    raise AssertionError(f'waited {PATIENCE_SECONDS} s for {what}')


class Sniffer:
    """All frames of `netdev` in `namespace` from now on, until the test ends."""

    def __init__(self, case, namespace, netdev):
        self._lines = []
        self._process = namespace.popen(sys.executable, '-c', _SNIFFER, netdev,
                                        stdout=subprocess.PIPE)
        case.addCleanup(self._process.stdout.close)
        case.addCleanup(self._process.wait)
        case.addCleanup(self._process.kill)
        case.assertEqual(self._process.stdout.readline(), 'ready\n')
        reader = threading.Thread(target=self._read, daemon=True)
        case.addCleanup(reader.join)
        case.addCleanup(self._process.kill)
        reader.start()

    def _read(self):
        for line in self._process.stdout:
            when, way, frame = line.split()
            self._lines.append((float(when), way, bytes.fromhex(frame)))

    def frames(self, way='in'):
        """(time, frame) of those that came to the netdev."""
        return [(when, frame) for when, got, frame in list(self._lines)
                if got == way]

    def messages(self, source):
        """What the host `source` said of groups, in order."""
        read = read_mld if ':' in source else read_igmp
        messages = [read(*each) for each in self.frames()]
        return [each for each in messages if each and each.source == source]

    def records(self, source, group):
        """(time, type of record, sources) of what it said of `group`."""
        return [(message.time, kind, sources)
                for message in self.messages(source)
                for kind, about, sources in message.records if about == group]

    def wait_record(self, source, group, kind, after=0.0):
        """The time of the first record of `kind` after `after`."""
        return wait_until(
            lambda: [when for when, got, _ in self.records(source, group)
                     if got == kind and when > after],
            f'record {kind} of {group} by {source}')[0]
