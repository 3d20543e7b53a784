"""Datagrams of many flows, each with a number in it."""

import collections
import socket
import struct

import captures

FLOWS = 64
ROUNDS = 40
# 10.1.0.0 to 10.1.0.63 talk to one host; ports differ too.
_HOST = '10.2.0.1'


def packet(flow, payload, fragment=0, identification=1):
    """An IPv4 packet of UDP of a flow; `fragment` is the flags and offset word.
    Its header has no checksum, and nobody here looks."""
    addresses = (socket.inet_aton(f'10.1.0.{flow}') + socket.inet_aton(_HOST))
    return captures.ethernet(0x0800, struct.pack(
        '>BBHHHBBH', 0x45, 0, 20 + len(payload), identification, fragment, 64,
        socket.IPPROTO_UDP, 0) + addresses + payload)


def datagram(flow, number):
    """Whole, and a number in it."""
    port = 1024 + flow * 7919 % 50000
    return packet(flow, struct.pack('>HHHHI20x', port, 53, 32, 0, number),
                  identification=number)


def _flow_and_number(frame):
    return frame[26:30], struct.unpack_from('>I', frame, 42)[0]


def many_flows():
    """Datagrams 0, 1, ... of each of many flows, interleaved."""
    return [datagram(flow, number) for number in range(ROUNDS)
            for flow in range(FLOWS)]


def numbers_by_flow(frames):
    """What numbers each flow had, in the order of `frames`."""
    numbers = collections.defaultdict(list)
    for frame in frames:
        flow, number = _flow_and_number(frame)
        numbers[flow].append(number)
    return numbers
