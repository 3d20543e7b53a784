"""mcast that runs, and kernel sockets that send to groups."""

import json
import os
import random
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

import groups
import netns

PROGRAM = os.path.abspath('apps/mcast/mcast')
# How Receiver starts it.
COMMAND = [PROGRAM]
GROUP, GROUP6 = '233.252.0.5', 'ff3e::8000:5'
PORT = 5001
# Of mcast, and of the kernel at the other end.
IP, KERNEL_IP = '192.0.2.1', '192.0.2.2'
LINK_IP = 'fe80::1'

# What a packet device counts of frames that it had no room for.
DEVICE_LOSSES = ['rx_ring_full', 'rx_not_ready', 'out_of_buffer']

# RFC 3376 §4.2.12: what a record says.
IS_INCLUDE, IS_EXCLUDE, TO_INCLUDE, TO_EXCLUDE, ALLOW, BLOCK = range(1, 7)

# Sends the files it is told to a group, from `source` if that is not empty.
_SENDER = '''
import socket, sys, time
group, port, netdev, source, *paths = sys.argv[1:]
index = socket.if_nametoindex(netdev)
if ':' in group:
    sender = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    sender.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, index)
    sender.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 1)
    sender.bind((source or '::', 0))
else:
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    member = socket.inet_aton('0.0.0.0') * 2 + index.to_bytes(4, sys.byteorder)
    sender.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, member)
    sender.bind((source or '', 0))
sender.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)
for path in paths:
    with open(path, 'rb') as file:
        sender.sendto(file.read(), (group, int(port)))
'''


def payload(size, seed=0):
    return random.Random(size * 1000 + seed).randbytes(size)


def run(*arguments, **kwargs):
    """mcast to its end."""
    return subprocess.run([PROGRAM, *arguments], text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False,
                          timeout=groups.PATIENCE_SECONDS, **kwargs)


class Receiver:
    """mcast recv, until the test ends or stop() is called."""

    def __init__(self, case, port, *arguments, folder, stdout=None, ip=IP):
        self.json_path = os.path.join(folder, f'recv{time.monotonic()}.json')
        self._out = stdout or open(os.path.join(folder, 'out'), 'w+b')
        self._err = open(os.path.join(folder, 'err'), 'w+b')
        case.addCleanup(self._out.close)
        case.addCleanup(self._err.close)
        self.process = subprocess.Popen(
            [*COMMAND, 'recv', port, f'--udp_port={PORT}', f'--ip={ip}',
             f'--json={self.json_path}', *arguments],
            stdin=subprocess.DEVNULL, stdout=self._out, stderr=self._err)
        case.addCleanup(self.process.wait)
        case.addCleanup(self.process.kill)

    def stderr(self):
        self._err.seek(0)
        return self._err.read().decode()

    def stdout(self):
        self._out.seek(0)
        return self._out.read().decode()

    def wait(self):
        """The exit code, and the report, of a run that ends by itself."""
        try:
            code = self.process.wait(groups.PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGINT)
            self.process.wait(groups.PATIENCE_SECONDS)
            raise AssertionError('recv did not end by itself:\n' +
                                 self.stdout() + self.stderr()) from None
        with open(self.json_path) as file:
            text = file.read()
        report = json.loads(text) if text else None
        if report:
            assert_conserved(report)
        return code, report

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        return self.wait()


def assert_conserved(report):
    """Everything that came is somewhere, and every mbuf is at home."""
    packets, mbufs = report['packets'], report['mbufs']
    assert packets['received'] + packets['made'] == sum(
        packets[name] for name in ['sent', 'dropped', 'taken', 'held']), packets
    assert mbufs['held'] == 0 and packets['held'] == 0, (packets, mbufs)


def drops(report):
    """Of all stages, by name."""
    found = {}
    for lcore in report['lcores']:
        for pipeline in lcore['pipelines']:
            for stage in pipeline['stages']:
                for name, count in stage.get('drops', {}).items():
                    found[name] = found.get(name, 0) + count
    return found


class KernelCase(unittest.TestCase):
    """A veth: `tokernel` here, for mcast, `veth0` in another namespace."""

    def setUp(self):
        netns.require()
        self.kernel = netns.Namespace()
        self.addCleanup(self.kernel.close)
        netns.link('veth0', 'tokernel', self.kernel)
        self.addCleanup(netns.run, 'ip', 'link', 'delete', 'tokernel')
        for address in [f'{KERNEL_IP}/24', '192.0.2.9/24', '2001:db8::2/64']:
            nodad = ['nodad'] if ':' in address else []
            self.kernel.run('ip', 'addr', 'add', address, 'dev', 'veth0',
                            *nodad)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.sniffer = groups.Sniffer(self, self.kernel, 'veth0')

    def path(self, name):
        return os.path.join(self.folder, name)

    def receiver(self, port, *arguments, ip=IP, stdout=None):
        return Receiver(self, port, *arguments, folder=self.folder, ip=ip,
                        stdout=stdout)

    def joined(self, port, *arguments, group=GROUP, ip=IP, kind=TO_EXCLUDE,
               stdout=None):
        """A receiver whose report for `group` the kernel has got."""
        began = time.monotonic()
        receiver = self.receiver(port, f'--group={group}', *arguments, ip=ip,
                                 stdout=stdout)
        for each in group.split(','):
            self.sniffer.wait_record(ip, each, kind, began)
        return receiver

    def send(self, group, *payloads, port=PORT, netdev='veth0', source=''):
        """Datagrams of a kernel socket."""
        paths = []
        for number, data in enumerate(payloads):
            paths.append(self.path(f'sent{number}'))
            with open(paths[-1], 'wb') as file:
                file.write(data)
        self.kernel.run(sys.executable, '-c', _SENDER, group, str(port), netdev,
                        source, *paths)

    def inject(self, frame):
        """Has the kernel's end send `frame` as it is."""
        self.kernel.run(
            sys.executable, '-c',
            'import socket, sys\n'
            'out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)\n'
            'out.bind(("veth0", 0))\n'
            'out.send(bytes.fromhex(sys.argv[1]))', frame.hex())


def records_of(path):
    """(time in ns, frame) of a pcap with nanoseconds."""
    with open(path, 'rb') as file:
        data = file.read()
    assert struct.unpack_from('=I', data)[0] == 0xa1b23c4d
    at, found = 24, []
    while at < len(data):
        seconds, fraction, size, _ = struct.unpack_from('=IIII', data, at)
        found.append((seconds * 10**9 + fraction, data[at + 16:at + 16 + size]))
        at += 16 + size
    return found
