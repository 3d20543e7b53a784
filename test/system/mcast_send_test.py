#!/usr/bin/env python3
"""mcast send: into captures, and to kernel sockets that joined the group.

    mcast send packet:tokernel ==veth== sockets (192.0.2.2, fe80::2)
"""

import hashlib
import os
import random
import socket
import struct
import subprocess
import sys
import tempfile
import unittest

import groups
import netns
import script_main
import vlan_relay

_PROGRAM = os.path.abspath('apps/mcast/mcast')
_PATIENCE_SECONDS = 60
_GROUP, _GROUP6 = '233.252.0.5', 'ff3e::8000:5'
_PORT = 5001

# Joins a group and prints where datagrams come from, their sizes and digests, of
# as many as it is told, after a line that says that it has joined.
_RECEIVER = '''
import hashlib, socket, struct, sys
group, port, netdev, count = sys.argv[1:]
index = socket.if_nametoindex(netdev)
if ':' in group:
    receiver = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    member = socket.inet_pton(socket.AF_INET6, group) + struct.pack('@I', index)
    receiver.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, member)
else:
    receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    member = struct.pack('4s4si', socket.inet_aton(group), bytes(4), index)
    receiver.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, member)
receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
receiver.bind(('', int(port)))
receiver.settimeout(60)
print('joined', flush=True)
for _ in range(int(count)):
    data, source = receiver.recvfrom(65536)
    print(source[0], len(data), hashlib.sha256(data).hexdigest(), flush=True)
'''


def _payload(size):
    return random.Random(size).randbytes(size)


def _run(*arguments):
    return subprocess.run([_PROGRAM, 'send', *arguments], text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False,
                          timeout=_PATIENCE_SECONDS)


def _records(path):
    """The frames of a capture in the byte order of this machine."""
    with open(path, 'rb') as file:
        data = file.read()
    at, frames = 24, []
    while at < len(data):
        _, _, size, _ = struct.unpack_from('=IIII', data, at)
        frames.append(data[at + 16:at + 16 + size])
        at += 16 + size
    return frames


class CaptureTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = os.path.join(folder.name, 'payload')
        self.out = os.path.join(folder.name, 'out.pcap')

    def send(self, payload, *arguments, group=_GROUP, mtu=1500):
        """The frames of `payload`."""
        with open(self.file, 'wb') as file:
            file.write(payload)
        ip = '2001:db8::1' if ':' in group else '192.0.2.1'
        done = _run(f'pcap:,out={self.out},mtu={mtu}',
                    f'--group={group}', f'--udp_port={_PORT}', f'--ip={ip}',
                    f'--file={self.file}', *arguments)
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        return _records(self.out)

    def test_a_small_datagram_is_one_padded_frame(self):
        frames = self.send(b'12345', '--source_port=30001', '--ttl=4',
                           group='239.252.255.250')
        self.assertEqual(len(frames), 1)
        # RFC 1112 §6.4; IEEE 802.3 has frames of 60 bytes at least.
        self.assertEqual(frames[0][:6].hex(), '01005e7cfffa')
        self.assertEqual(frames[0][6] & 1, 0)
        self.assertEqual(frames[0][12:14].hex(), '0800')
        self.assertEqual(len(frames[0]), 60)
        self.assertEqual(frames[0][14:16].hex(), '4500')
        self.assertEqual(struct.unpack_from('>H', frames[0], 16), (33,))
        self.assertEqual((frames[0][22], frames[0][23]), (4, 17))
        self.assertEqual(frames[0][34:40].hex(), '7531' '1389' '000d')
        self.assertEqual(frames[0][42:47], b'12345')
        self.assertEqual(frames[0][47:], bytes(13))

    def test_a_datagram_above_the_mtu_is_fragmented(self):
        payload = _payload(2000)
        frames = self.send(payload)
        self.assertEqual(len(frames), 2)
        parts = []
        for frame in frames:
            self.assertEqual(frame[:6].hex(), '01005e7c0005')
            size, identity, word = struct.unpack_from('>HHH', frame, 16)
            parts.append(((word & 0x1fff) * 8, bool(word & 0x2000), identity,
                          frame[34:14 + size]))
        self.assertEqual([part[:2] for part in parts],
                         [(0, True), (1480, False)])
        self.assertEqual(parts[0][2], parts[1][2])
        whole = parts[0][3] + parts[1][3]
        self.assertEqual(whole[8:], payload)
        # One checksum over the whole (RFC 768).
        pseudo = (socket.inet_aton('192.0.2.1') + socket.inet_aton(_GROUP) +
                  struct.pack('>HH', 17, len(whole)))
        total = sum(struct.unpack(f'>{(len(pseudo) + len(whole)) // 2}H',
                                  pseudo + whole))
        self.assertEqual(total % 65535, 0)

    def test_a_file_is_cut_into_datagrams(self):
        payload = _payload(2500)
        frames = self.send(payload, '--size=1000', '--vlan=7')
        self.assertEqual([len(frame) for frame in frames], [1046, 1046, 546])
        self.assertEqual(b''.join(frame[46:] for frame in frames), payload)
        self.assertTrue(all(frame[12:16].hex() == '81000007'
                            for frame in frames))

    def test_the_last_of_a_count_ends_it(self):
        frames = self.send(b'abcd', '--size=3', '--count=5')
        self.assertEqual([frame[42:42 + frame[39] - 8] for frame in frames],
                         [b'abc', b'd', b'abc', b'd', b'abc'])

    def test_stamps_count(self):
        frames = self.send(bytes(100), '--sequence=weir', '--count=3',
                           group=_GROUP6)
        for number, frame in enumerate(frames):
            magic, version, found = struct.unpack_from('>4sIQ', frame, 62)
            self.assertEqual((magic, version, found), (b'weir', 1, number))

    def send_stdin(self, written, *arguments, says=''):
        """The payloads that become of `written`, bytes a write."""
        sender = subprocess.Popen(
            [_PROGRAM, 'send', f'pcap:,out={self.out}', f'--group={_GROUP}',
             f'--udp_port={_PORT}', '--ip=192.0.2.1', '--stdin', *arguments],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE)
        self.addCleanup(sender.wait)
        self.addCleanup(sender.kill)
        for part in written:
            sender.stdin.write(part)
            sender.stdin.flush()
        _, errors = sender.communicate(timeout=_PATIENCE_SECONDS)
        self.assertIn(says, errors.decode())
        self.assertEqual(sender.returncode, 0 if says == '' else 1, errors)
        if says == '':
            self.assertEqual(errors, b'')
        return [frame[42:34 + struct.unpack_from('>H', frame, 38)[0]]
                for frame in _records(self.out)]

    def test_a_rate_that_is_not_kept_is_said(self):
        arguments = ['null:', f'--group={_GROUP}', '--udp_port=5001',
                     '--ip=192.0.2.1']
        # More than any link of this size of frame takes.
        done = _run(*arguments, '--rate=100000000', '--duration=300ms')
        self.assertRegex(done.stdout, r'sent [0-9,]+ datagrams a second where '
                         r'100,000,000 were wanted \(--rate\)')
        # It has three seconds to make up for.
        done = _run(*arguments, '--rate=10', '--count=2')
        self.assertNotIn('wanted', done.stdout)

    def test_stdin_ends_the_run(self):
        payload = _payload(200000)
        parts = self.send_stdin([payload[:70000], payload[70000:]],
                                '--size=1000')
        self.assertEqual(b''.join(parts), payload)
        self.assertLessEqual(max(map(len, parts)), 1000)

    def test_lines_of_stdin_are_datagrams(self):
        self.assertEqual(
            self.send_stdin([b'one\ntw', b'o\n\nend'], '--split=line'),
            [b'one\n', b'two\n', b'\n', b'end'])

    def test_lengths_on_stdin_are_kept(self):
        sizes = [1, 0, 1400, 77]
        stream = b''.join(struct.pack('>H', size) + _payload(size)
                          for size in sizes)
        self.assertEqual(self.send_stdin([stream], '--split=length'),
                         [_payload(size) for size in sizes])

    def test_a_stamp_is_in_front_of_what_stdin_gives(self):
        parts = self.send_stdin([b'0123456789'], '--size=28',
                                '--sequence=weir')
        self.assertEqual([part[24:] for part in parts],
                         [b'0123', b'4567', b'89'])
        self.assertEqual([part[:16] for part in parts],
                         [struct.pack('>4sIQ', b'weir', 1, number)
                          for number in range(3)])

    def test_a_count_ends_before_stdin_does(self):
        self.assertEqual(
            self.send_stdin([b'1\n2\n3\n4\n'], '--split=line', '--count=2'),
            [b'1\n', b'2\n'])

    def test_a_plan_reads_no_standard_input(self):
        with open(self.file, 'w+b') as unread:
            unread.write(b'x')
            unread.seek(0)
            done = subprocess.run(
                [_PROGRAM, 'send', 'null:', f'--group={_GROUP}',
                 '--udp_port=5001', '--ip=192.0.2.1', '--stdin', '--plan'],
                stdin=unread, capture_output=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, b''))
            self.assertEqual(os.lseek(unread.fileno(), 0, os.SEEK_CUR), 0)

    def test_stdin_that_ends_too_early_is_said(self):
        self.assertEqual(
            self.send_stdin([b'\0\3abc\0\7x'], '--split=length',
                            says='standard input: it ends within a datagram'),
            [b'abc'])

    def test_wrong_flags_are_named(self):
        good = ['null:', '--group=233.252.0.5', '--udp_port=5001',
                '--ip=192.0.2.1', '--count=1']
        for flag, says in [
                ('--group=192.0.2.1', '--group: want a multicast group'),
                ('--group=', 'got nothing'),
                ('--group=ff01::1', '--group: ff01::1 is of scope 1 (RFC 4291 '
                 'section 2.7), which never leaves a host; want one of a scope '
                 'from 2 on such as ff3e::8000:1'),
                ('--group=ff30::7', '--group: ff30::7 is of scope 0 (RFC 4291 '
                 'section 2.7), which is reserved; want one'),
                ('--udp_port=0', '--udp_port: want a UDP port'),
                ('--udp_port=65536', 'got 65536'),
                ('--source_port=65536', '--source_port: '),
                ('--ip=2001:db8::1', '--ip: want an address such as 192.0.2.1'),
                ('--ip=239.0.0.1', 'which is a group'),
                ('--ip=', 'say what to send from: --ip=192.0.2.1'),
                ('--vlan=4095', '--vlan: want 1 to 4094'),
                ('--ttl=0', '--ttl: want 1 to 255'),
                ('--ttl=256', 'got 256'),
                ('--size=65508', 'a datagram has 65507 bytes at most'),
                ('--sequence=rtp', '--sequence: want none or weir'),
                ('--size=23 --sequence=weir', '--size: want at least 24'),
                ('--rate=-1', '--rate: want datagrams a second, or 0 for as '
                 'many as the port takes, got -1'),
                ('--to=stdout', '--to: a flag of recv, not of send'),
                ('--split=word', '--split: want read, line or length'),
                ('--split=line', '--split=line: want --stdin with it'),
                ('--stdin --file=x', 'want one of them'),
                ('--file=/does/not/exist', '--file: /does/not/exist: '),
                ('--file=/', '--file: /: read: Is a directory')]:
            done = _run(*good, *flag.split())
            self.assertEqual(done.returncode, 1, flag)
            self.assertIn(says, done.stderr)
            self.assertEqual(done.stderr.count('\n'), 1, done.stderr)

    def test_it_needs_a_command_and_a_port(self):
        for arguments, says in [([], 'want one of recv, relay, send first'),
                                (['null:'], 'got null:'),
                                (['send', '--group=233.252.0.5',
                                  '--udp_port=1'], 'want exactly 1 port')]:
            done = subprocess.run([_PROGRAM, *arguments], text=True,
                                  stdin=subprocess.DEVNULL,
                                  capture_output=True, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn(says, done.stderr)


class KernelTest(unittest.TestCase):

    def setUp(self):
        netns.require()
        self.kernel = netns.Namespace()
        self.addCleanup(self.kernel.close)
        netns.link('veth0', 'tokernel', self.kernel)
        self.addCleanup(netns.run, 'ip', 'link', 'delete', 'tokernel')
        for address in ['192.0.2.2/24', '2001:db8::2/64']:
            nodad = ['nodad'] if ':' in address else []
            self.kernel.run('ip', 'addr', 'add', address, 'dev', 'veth0',
                            *nodad)
        # So that 46 fragments of one datagram are not taken for too many.
        self.kernel.run('sh', '-c',
                        'echo 0 > /proc/sys/net/ipv4/ipfrag_max_dist')

    def wait_for_link(self, state):
        """Returns once the kernel says so of the link."""
        def is_so():
            with open('/sys/class/net/tokernel/operstate') as file:
                return state in file.read()
        groups.wait_until(is_so, f'a link that is {state}')

    def receiver(self, group, count, netdev='veth0'):
        """A socket in the other namespace that has joined `group`."""
        joined = self.kernel.popen(sys.executable, '-c', _RECEIVER, group,
                                   str(_PORT), netdev, str(count),
                                   stdout=subprocess.PIPE)
        self.addCleanup(joined.stdout.close)
        self.addCleanup(joined.wait)
        self.addCleanup(joined.kill)
        self.assertEqual(joined.stdout.readline(), 'joined\n')
        return joined

    def assert_delivered(self, port, group, *arguments, netdev='veth0'):
        """Datagrams of all sizes come to a socket byte for byte."""
        ip = '2001:db8::1' if ':' in group else '192.0.2.1'
        with tempfile.TemporaryDirectory() as folder:
            for size in [1, 100, 9000, 60000, 65507]:
                path = os.path.join(folder, str(size))
                with open(path, 'wb') as file:
                    file.write(_payload(size))
                receiver = self.receiver(group, 2, netdev)
                done = _run(port, f'--group={group}', f'--udp_port={_PORT}',
                            f'--ip={ip}', f'--file={path}', f'--size={size}',
                            '--count=2', *arguments)
                self.assertEqual((done.returncode, done.stderr), (0, ''))
                expected = (f'{ip} {size} '
                            f'{hashlib.sha256(_payload(size)).hexdigest()}\n')
                for _ in range(2):
                    self.assertEqual(receiver.stdout.readline(), expected)

    def test_kernel_receives_ipv4_over_packet(self):
        self.assert_delivered('packet:tokernel', _GROUP)

    def test_kernel_receives_ipv6_over_packet(self):
        self.assert_delivered('packet:tokernel', _GROUP6)

    def test_kernel_receives_over_xdp(self):
        self.assert_delivered('xdp:tokernel', _GROUP)
        self.assert_delivered('xdp:tokernel', _GROUP6)

    def test_kernel_receives_on_a_vlan(self):
        vlan_relay.add(self, self.kernel, '192.0.2.3/25')
        self.assert_delivered('packet:tokernel', _GROUP, '--vlan=7',
                              netdev='vlan7')

    def test_the_address_of_the_netdev_is_taken(self):
        netns.run('ip', 'addr', 'add', '192.0.2.77/24', 'dev', 'tokernel')
        receiver = self.receiver(_GROUP, 1)
        done = _run('packet:tokernel', f'--group={_GROUP}',
                    f'--udp_port={_PORT}', '--count=1', '--size=9')
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        self.assertTrue(
            receiver.stdout.readline().startswith('192.0.2.77 9 '))

    def test_a_link_that_is_down_is_said(self):
        self.kernel.run('ip', 'link', 'set', 'veth0', 'down')
        self.wait_for_link('down')
        done = _run('packet:tokernel', f'--group={_GROUP}', '--udp_port=5001',
                    '--ip=192.0.2.1', '--count=5')
        self.assertEqual(done.returncode, 0)
        says = 'mcast: port packet:tokernel: '
        self.assertEqual(
            done.stderr.splitlines(),
            [f'{says}link is down; what is sent is dropped and counted until '
             'it is up',
             f'{says}frames not sent as the link was down (tx_link_down): 5'])

    def test_frames_above_an_mtu_that_shrank_are_said(self):
        sender = subprocess.Popen(
            [_PROGRAM, 'send', 'packet:tokernel', f'--group={_GROUP}',
             '--udp_port=5001', '--ip=192.0.2.1', '--stdin', '--split=line'],
            text=True, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE)
        self.addCleanup(sender.wait)
        self.addCleanup(sender.kill)
        # It is open when one comes.
        receiver = self.receiver(_GROUP, 1)
        sender.stdin.write('x\n')
        sender.stdin.flush()
        receiver.stdout.readline()
        netns.run('ip', 'link', 'set', 'tokernel', 'mtu', '1000')
        _, errors = sender.communicate('y' * 1100 + '\n',
                                       timeout=_PATIENCE_SECONDS)
        self.assertEqual(sender.returncode, 0)
        self.assertEqual(
            errors, 'mcast: port packet:tokernel: frames not sent as they are '
            'longer than the link takes (tx_too_long): 1\n')


if __name__ == '__main__':
    netns.enter()
    script_main.main()
