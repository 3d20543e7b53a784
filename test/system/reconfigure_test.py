#!/usr/bin/env python3
"""Captures, flows and groups of l2fwd that forwards: what they change, and that
no lcore stops and no frame is lost for it.

    a0 ==veth== a1  l2fwd packet:a1 packet:b1  b1 ==veth== b0
"""

import json
import os
import socket
import struct
import subprocess
import tempfile
import threading
import time
import unittest

import captures
import l2fwd
import netns
import script_main

CONTROL = os.path.abspath('apps/control/control')
TOP = os.path.abspath('apps/top/top')

# IEEE 802 has these for experiments: no kernel sends them by itself.
_LOAD, _PROBE = 0x88b5, 0x88b6
_MAC = bytes.fromhex('0200000000aa')
_SOURCE = bytes.fromhex('0200000000bb')


def frame(ether_type, number, to=_MAC):
    """A frame of 60 bytes or more that no other is like."""
    payload = struct.pack('>Q', number) + bytes(number % 251 + 50)
    return to + _SOURCE + struct.pack('>H', ether_type) + payload


class Netdev:
    """Raw frames in and out of a netdev."""

    def __init__(self, name):
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW,
                                     socket.htons(3))
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16 << 20)
        self._socket.bind((name, 0))
        self._socket.settimeout(0.01)

    def send(self, data):
        self._socket.send(data)

    def receive(self):
        """The next frame that came in, None if none comes soon."""
        try:
            data, address = self._socket.recvfrom(9000)
        except TimeoutError:
            return None
        return b'' if address[2] == socket.PACKET_OUTGOING else data

    def close(self):
        self._socket.close()


class ReconfigureTest(unittest.TestCase):

    def setUp(self):
        netns.require()
        for side in 'ab':
            netns.run('ip', 'link', 'add', f'{side}0', 'type', 'veth', 'peer',
                      'name', f'{side}1')
            self.addCleanup(netns.run, 'ip', 'link', 'delete', f'{side}0')
            for end in '01':
                netns.run('ip', 'link', 'set', side + end, 'addrgenmode',
                          'none', 'up')
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.run_ = l2fwd.Run(['packet:a1', 'packet:b1', '--stats=0'],
                              self.folder.name)
        self.addCleanup(self.run_.close)
        self.left, self.right = Netdev('a0'), Netdev('b0')
        self.addCleanup(self.left.close)
        self.addCleanup(self.right.close)
        self.sent = 0
        l2fwd.wait_until(lambda: self.arrives(frame(_PROBE, 1)) and
                         self.polls(), 'the first frame and counters')

    def control(self, *arguments):
        said = subprocess.run(
            [CONTROL, '--json', str(self.run_.pid), *map(str, arguments)],
            text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            check=False, timeout=l2fwd.PATIENCE_SECONDS)
        self.assertEqual(said.returncode, 0, said.stdout + said.stderr)
        return json.loads(said.stdout)

    def polls(self):
        shown = subprocess.run([TOP, '--json', str(self.run_.pid)], text=True,
                               stdout=subprocess.PIPE, check=False,
                               stderr=subprocess.DEVNULL)
        if shown.returncode != 0:
            return {}
        metrics = json.loads(shown.stdout)['processes'][0]['metrics']
        return {metric['labels']['lcore']: metric['value']
                for metric in metrics if metric['name'] == 'weir_lcore_polls'}

    def arrives(self, data):
        """Whether a frame sent on the left comes out on the right: before
        the next one, of a kind that comes whatever a test changes."""
        self.sent += 1
        marker = frame(_LOAD, 1_000_000 + self.sent)
        self.left.send(data)
        self.left.send(marker)
        arrived = False
        deadline = time.monotonic() + 1
        while time.monotonic() < deadline:
            seen = self.right.receive()
            arrived |= seen == data
            if seen == marker:
                return arrived
        # As before anything is forwarded.
        return False

    def assert_arrives(self, data):
        l2fwd.wait_until(lambda: self.arrives(data), 'a frame that is wanted')

    def packets_of(self, path):
        """The frames of a capture, as tshark has them."""
        plain = path + '.pcap'
        subprocess.run(['tshark', '-r', path, '-F', 'nsecpcap', '-w', plain],
                       check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        return captures.read_pcap(plain)

    def load(self, count, each):
        """Sends numbered frames from left to right, does `each` meanwhile, and
        returns the numbers that arrived, in order."""
        numbers = []

        def receive():
            last = time.monotonic()
            while time.monotonic() - last < 2 and len(numbers) < count:
                data = self.right.receive()
                if data and data[12:14] == struct.pack('>H', _LOAD):
                    numbers.append(struct.unpack_from('>Q', data, 14)[0])
                    last = time.monotonic()

        def send():
            for number in range(count):
                self.left.send(frame(_LOAD, number))
                if number % 20 == 0:
                    time.sleep(0.002)

        threads = [threading.Thread(target=work) for work in (receive, send)]
        for thread in threads:
            thread.start()
        each()
        for thread in threads:
            thread.join()
        return numbers

    def test_captures_every_frame_of_a_port_under_load(self):
        path = os.path.join(self.folder.name, 'rx.pcapng')
        self.control('capture', 'start', 'packet:a1', path, '--direction=rx')
        before = self.polls()

        def more():
            other = os.path.join(self.folder.name, 'all.pcapng')
            self.control('capture', 'start', 'all', other, '--snaplen=20')
            self.control('capture', 'stop', 2)

        numbers = self.load(5000, more)
        self.assertEqual(numbers, list(range(5000)))
        self.assertEqual(self.control('capture', 'stop', 1)['stopped'], [1])
        one = [capture for capture in self.control('capture', 'list')['captures']
               if capture['id'] == 1][0]
        self.assertEqual((one['state'], one['lost'], one['error']),
                         ('ended', 0, ''))
        seen = [data for data in self.packets_of(path)
                if data[12:14] == struct.pack('>H', _LOAD)]
        self.assertEqual(seen, [frame(_LOAD, number) for number in range(5000)])
        after = self.polls()
        self.assertTrue(any(after[lcore] > before[lcore] for lcore in before))

    def test_names_interfaces_and_directions(self):
        path = os.path.join(self.folder.name, 'both.pcapng')
        self.control('capture', 'start', 'all', path, '--count=4')
        # And a marker, which may be received with it.
        self.assert_arrives(frame(_PROBE, 3))
        l2fwd.wait_until(
            lambda: self.control('capture', 'list')['captures'][0]['state'] ==
            'ended', 'the end of the capture')
        fields = subprocess.run(
            ['tshark', '-r', path, '-T', 'fields', '-e',
             'frame.interface_name', '-e', 'frame.packet_flags_direction'],
            check=True, text=True, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL).stdout.split('\n')
        names = [line.split('\t')[0] for line in fields if line]
        self.assertEqual(sorted(names), 2 * ['packet:a1'] + 2 * ['packet:b1'])

    def test_lets_flows_come_and_go_while_frames_pass(self):
        probe = frame(_PROBE, 2)

        def change():
            load = self.control('flow', 'add', 'packet:a1',
                                f'ether_type={_LOAD:#06x}')['id']
            # From here on the port gets only what flows say.
            self.control('port', 'accept', 'packet:a1', 'rules')
            self.control('flow', 'add', 'packet:a1', 'udp_dst_port=9')
            self.control('flow', 'remove', 'packet:a1', 2)
            self.assertEqual(
                self.control('flow', 'list')['flows'],
                [{'port': 'packet:a1', 'id': load,
                  'rule': f'ether_type={_LOAD:#06x}'}])

        numbers = self.load(5000, change)
        self.assertEqual(numbers, list(range(5000)))
        self.assertFalse(self.arrives(probe))
        flow = self.control('flow', 'add', 'packet:a1',
                            f'ether_type={_PROBE:#06x}')['id']
        self.assert_arrives(probe)
        self.control('flow', 'remove', 'packet:a1', flow)
        self.assertFalse(self.arrives(probe))
        self.control('port', 'accept', 'packet:a1', 'all')
        self.assert_arrives(probe)
        ended = self.run_.stop()
        self.assertEqual(ended.status, 0, ended.stderr)
        self.assertTrue(ended.table['packets']['conserved'])

    def test_joins_and_leaves_groups(self):
        self.control('flow', 'add', 'packet:a1', f'ether_type={_LOAD:#06x}')
        self.control('port', 'accept', 'packet:a1', 'rules')
        to_group = frame(_PROBE, 4, bytes.fromhex('01005e010101'))
        self.assertFalse(self.arrives(to_group))
        said = self.control('group', 'join', 'packet:a1', '239.1.1.1')
        self.assertEqual((said['mac'], said['method']),
                         ('01:00:5e:01:01:01', 'flow'))
        self.assert_arrives(to_group)
        self.assertFalse(self.arrives(frame(_PROBE, 5)))
        self.assertEqual(self.control('group', 'list')['groups'][0]['group'],
                         '239.1.1.1')
        self.control('group', 'leave', 'packet:a1', '239.1.1.1')
        self.assertFalse(self.arrives(to_group))
        self.control('port', 'accept', 'packet:a1', '--all_groups=yes')
        self.assert_arrives(to_group)


if __name__ == '__main__':
    netns.enter()
    script_main.main()
