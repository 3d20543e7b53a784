"""Kernel sockets that join groups and send to them, in any namespace, and what
passes on a netdev. What is parsed here is parsed by itself."""

import collections
import contextlib
import ctypes
import errno
import os
import select
import socket
import struct
import time

# Far more than anything takes: what has not come by then will not.
PATIENCE_SECONDS = 30

_CLONE_NEWNET = 0x40000000
_ETH_P_ALL = 3
# <linux/in.h>, with the sockaddr_storage at 8 bytes.
_MCAST_JOIN_GROUP, _MCAST_LEAVE_GROUP, _MCAST_JOIN_SOURCE = 42, 45, 46
_IP_RECVTTL, _IPV6_RECVHOPLIMIT, _IPV6_HOPLIMIT = 12, 51, 52
_SOL_PACKET, _PACKET_IGNORE_OUTGOING = 263, 23
_SO_NO_CHECK = 11

# A record of a report: RFC 3376 §4.2.4; names of §4.2.12.
Record = collections.namedtuple('Record', 'type group sources')
_RECORDS = {1: 'IS_IN', 2: 'IS_EX', 3: 'TO_IN', 4: 'TO_EX', 5: 'ALLOW',
            6: 'BLOCK'}

_libc = ctypes.CDLL(None, use_errno=True)


@contextlib.contextmanager
def inside(namespace):
    """What is opened meanwhile is in the namespace, and stays there."""
    if namespace is None:
        yield
        return
    with open('/proc/self/ns/net', 'rb') as own, \
            open(f'/proc/{namespace.pid}/ns/net', 'rb') as other:
        if _libc.setns(other.fileno(), _CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), 'setns')
        try:
            yield
        finally:
            _libc.setns(own.fileno(), _CLONE_NEWNET)


def _family(address):
    return socket.AF_INET6 if ':' in address else socket.AF_INET


def packed(address):
    """Its bytes."""
    return socket.inet_pton(_family(address), address)


def _storage(address):
    """A sockaddr_storage."""
    if ':' in address:
        text = struct.pack('=HHI16sI', socket.AF_INET6, 0, 0,
                           socket.inet_pton(socket.AF_INET6, address), 0)
    else:
        text = struct.pack('=HH4s', socket.AF_INET, 0,
                           socket.inet_aton(address))
    return text.ljust(128, b'\0')


class Member:
    """A socket that has joined a group, from `sources` only if there are any."""

    def __init__(self, namespace, netdev, group, port, sources=()):
        self._level = (socket.IPPROTO_IPV6 if ':' in group
                       else socket.IPPROTO_IP)
        with inside(namespace):
            self._index = socket.if_nametoindex(netdev)
            self.socket = socket.socket(_family(group), socket.SOCK_DGRAM)
        self._group = group
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        if ':' in group:
            self.socket.setsockopt(self._level, _IPV6_RECVHOPLIMIT, 1)
        else:
            self.socket.setsockopt(self._level, _IP_RECVTTL, 1)
        self.socket.bind((group, port))
        self.socket.settimeout(PATIENCE_SECONDS)
        start = struct.pack('@II', self._index, 0)
        for source in sources:
            self.socket.setsockopt(self._level, _MCAST_JOIN_SOURCE,
                                   start + _storage(group) + _storage(source))
        if not sources:
            self.socket.setsockopt(self._level, _MCAST_JOIN_GROUP,
                                   start + _storage(group))

    def receive(self):
        """Source, hops left and payload of the next datagram."""
        data, extra, _, source = self.socket.recvmsg(65536, 64)
        hops = None
        for level, kind, value in extra:
            if (level, kind) in ((socket.IPPROTO_IP, socket.IP_TTL),
                                 (socket.IPPROTO_IPV6, _IPV6_HOPLIMIT)):
                hops = struct.unpack('@i', value)[0]
        return source[0], hops, data

    def leave(self):
        """Is a member no more; the socket stays."""
        self.socket.setsockopt(
            self._level, _MCAST_LEAVE_GROUP,
            struct.pack('@II', self._index, 0) + _storage(self._group))

    def close(self):
        self.socket.close()


class Sender:
    """A socket that sends to groups by a netdev."""

    def __init__(self, namespace, netdev, source, ttl):
        self._is_ipv6 = ':' in source
        with inside(namespace):
            self._index = socket.if_nametoindex(netdev)
            self.socket = socket.socket(_family(source), socket.SOCK_DGRAM)
        self.socket.bind((source, 0))
        if self._is_ipv6:
            self.socket.setsockopt(socket.IPPROTO_IPV6,
                                   socket.IPV6_MULTICAST_IF, self._index)
            self.socket.setsockopt(socket.IPPROTO_IPV6,
                                   socket.IPV6_MULTICAST_HOPS, ttl)
        else:
            self.socket.setsockopt(
                socket.IPPROTO_IP, socket.IP_MULTICAST_IF,
                struct.pack('@4s4si', bytes(4), bytes(4), self._index))
            self.socket.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL,
                                   ttl)

    def send(self, payload, group, port):
        self.socket.sendto(payload, (group, port))

    def close(self):
        self.socket.close()


def _checksum(data):
    """By division (RFC 1071 works modulo 65535)."""
    data += b'\0' * (len(data) % 2)
    return 65535 - sum(struct.unpack(f'>{len(data) // 2}H', data)) % 65535


def igmp_frame(source, to, message):
    """A message, whose checksum is filled in, in a frame to all."""
    message = message[:2] + b'\0\0' + message[4:]
    message = (message[:2] + struct.pack('>H', _checksum(message)) +
               message[4:])
    ip = struct.pack('>BBHHHBBH4s4s4s', 0x46, 0xc0, 24 + len(message), 0, 0, 1,
                     2, 0, socket.inet_aton(source), socket.inet_aton(to),
                     b'\x94\x04\0\0')
    ip = ip[:10] + struct.pack('>H', _checksum(ip)) + ip[12:]
    mac = b'\x01\0\x5e' + bytes([ip[17] & 0x7f]) + ip[18:20]
    return mac + b'\2\0\0\0\0\x99\x08\0' + ip + message


def igmp_query(source, response_tenths=1, interval_seconds=1):
    """A general query of version 3 (RFC 3376 §4.1)."""
    return igmp_frame(source, '224.0.0.1',
                      struct.pack('>BBH4sBBH', 0x11, response_tenths, 0,
                                  bytes(4), 2, interval_seconds, 0))


def igmp_report(source, records):
    """Of version 3; records are (type, group) without sources."""
    message = struct.pack('>BBHHH', 0x22, 0, 0, 0, len(records))
    for kind, group in records:
        message += struct.pack('>BBH4s', kind, 0, 0, socket.inet_aton(group))
    return igmp_frame(source, '224.0.0.22', message)


def records_of(frame):
    """The records of a report in an untagged frame; none if it is not one.

    Those of versions without records become IS_EX and TO_IN of all sources, as
    RFC 3376 §7.3.2 has it.
    """
    kind = struct.unpack_from('>H', frame, 12)[0]
    if kind == 0x0800 and frame[23] == 2:
        end = 14 + struct.unpack_from('>H', frame, 16)[0]
        message = frame[14 + 4 * (frame[14] & 15):end]
        size, family = 4, socket.AF_INET
        types = {0x22: 'records', 0x12: 'IS_EX', 0x16: 'IS_EX', 0x17: 'TO_IN'}
        old_at = 4
    elif kind == 0x86dd and frame[20] == 0 and frame[54] == 58:
        message = frame[54 + 8:]
        size, family = 16, socket.AF_INET6
        types = {143: 'records', 131: 'IS_EX', 132: 'TO_IN'}
        old_at = 8
    else:
        return []
    found = types.get(message[0])
    if found is None:
        return []
    if found != 'records':
        group = message[old_at:old_at + size]
        return [Record(found, socket.inet_ntop(family, group), [])]
    records, at = [], 8
    for _ in range(struct.unpack_from('>H', message, 6)[0]):
        kind, words, count = struct.unpack_from('>BBH', message, at)
        addresses = [
            socket.inet_ntop(family, message[at + 4 + size * i:][:size])
            for i in range(count + 1)]
        records.append(Record(_RECORDS.get(kind, kind), addresses[0],
                              sorted(addresses[1:])))
        at += 4 + size * (count + 1) + 4 * words
    return records


class Sniffer:
    """The frames that come by a netdev, from when this is made."""

    def __init__(self, namespace, netdev):
        with inside(namespace):
            self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF,
                                   8 << 20)
            self.socket.setsockopt(_SOL_PACKET, _PACKET_IGNORE_OUTGOING, 1)
            self.socket.bind((netdev, _ETH_P_ALL))
        # Not yet looked at; and all there were.
        self.frames = []
        self.all = []

    def send(self, frame):
        self.socket.send(frame)

    def read(self, seconds=0.0):
        """What has come, waiting so long for it."""
        new = []
        while select.select([self.socket], [], [], 0 if new else seconds)[0]:
            try:
                new.append(self.socket.recv(65536))
            except OSError as error:
                # The link went; it may come again.
                if error.errno != errno.ENETDOWN:
                    raise
        self.frames += new
        self.all += new
        return new

    def wait(self, wanted, what):
        """The first frame, of those not yet looked at, that `wanted` says yes
        to."""
        end = time.monotonic() + PATIENCE_SECONDS
        at = 0
        while True:
            for number in range(at, len(self.frames)):
                if wanted(self.frames[number]):
                    frame = self.frames[number]
                    del self.frames[:number + 1]
                    return frame
            at = len(self.frames)
            left = end - time.monotonic()
            if left <= 0:
                raise AssertionError(f'{what} has not come')
            self.read(min(left, 1))

    def wait_for_record(self, kinds, group, sources=None):
        """Waits for a report with a record of one of `kinds` about `group`, of
        these sources if they are given; which it was."""
        found = []

        def wanted(frame):
            for record in records_of(frame):
                if (record.type in kinds and record.group == group and
                        sources in (None, record.sources)):
                    found.append(record)
            return bool(found)

        self.wait(wanted, f'{kinds} of {group} {sources}')
        return found[0]

    def close(self):
        self.socket.close()


def has_ipv6(namespace, netdev):
    """Whether the kernel would speak MLD by the netdev: an address of the link
    that is no longer tentative."""
    with inside(namespace):
        with open(f'/proc/{os.getpid()}/task/{os.getpid()}/net/if_inet6',
                  encoding='ascii') as file:
            lines = [line.split() for line in file]
    return any(line[5] == netdev and line[3] == '20' and
               not int(line[4], 16) & 0x40 for line in lines)
