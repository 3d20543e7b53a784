"""A VLAN netdev for kernels without any: tags what leaves, untags what comes.

    vlan_relay.py INSIDE OUTSIDE VLAN

Frames of the netdev INSIDE leave by OUTSIDE with a tag; frames that come by
OUTSIDE with that tag go to INSIDE without it. Prints a line when it is ready.
"""

import select
import socket
import struct
import subprocess
import sys

# <linux/if_packet.h>: the kernel takes the tag out of the frame and hands it
# over beside it.
_SOL_PACKET = 263
_PACKET_AUXDATA = 8
_VLAN_VALID = 1 << 4
# <asm-generic/socket.h>: bursts of fragments wait here.
_SO_RCVBUFFORCE = 33
_ETH_P_ALL = 3
_LONGEST = 65536


def _open(netdev):
    endpoint = socket.socket(socket.AF_PACKET, socket.SOCK_RAW,
                             socket.htons(_ETH_P_ALL))
    endpoint.setsockopt(_SOL_PACKET, _PACKET_AUXDATA, 1)
    endpoint.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, 16 << 20)
    endpoint.bind((netdev, 0))
    return endpoint


def _receive(endpoint):
    """A frame and its tag (None: it has none); no frame if it is an own one."""
    frame, ancillary, _, address = endpoint.recvmsg(
        _LONGEST, socket.CMSG_SPACE(20))
    if address[2] == socket.PACKET_OUTGOING:
        return None, None
    for level, kind, data in ancillary:
        if (level, kind) == (_SOL_PACKET, _PACKET_AUXDATA):
            status, _, _, _, _, tci, _ = struct.unpack('=IIIHHHH', data)
            return frame, tci & 0xfff if status & _VLAN_VALID else None
    return frame, None


def add(case, namespace, address):
    """A netdev vlan7 in `namespace` whose frames use VLAN 7 of veth0."""
    namespace.run('ip', 'link', 'add', 'vlan7', 'type', 'veth', 'peer',
                  'name', 'tagger')
    for netdev in ('vlan7', 'tagger'):
        namespace.run('ip', 'link', 'set', netdev, 'up')
    # Nobody behind the relay knows of checksums that are left to a device.
    namespace.run('/usr/sbin/ethtool', '-K', 'vlan7', 'tx', 'off')
    namespace.run('ip', 'addr', 'add', address, 'dev', 'vlan7')
    relay = namespace.popen(sys.executable, __file__, 'tagger', 'veth0', '7',
                            stdout=subprocess.PIPE)
    case.addCleanup(relay.stdout.close)
    case.addCleanup(relay.wait)
    case.addCleanup(relay.kill)
    case.assertEqual(relay.stdout.readline(), 'ready\n')


def main():
    inside, outside = (_open(netdev) for netdev in sys.argv[1:3])
    vlan = int(sys.argv[3])
    tag = struct.pack('>HH', 0x8100, vlan)
    print('ready', flush=True)
    while True:
        for endpoint in select.select([inside, outside], [], [])[0]:
            frame, got = _receive(endpoint)
            if frame is None:
                continue
            if endpoint is inside and got is None:
                outside.send(frame[:12] + tag + frame[12:])
            elif endpoint is outside and got == vlan:
                inside.send(frame)


if __name__ == '__main__':
    main()
