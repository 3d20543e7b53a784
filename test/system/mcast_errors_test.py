#!/usr/bin/env python3
"""mcast recv with wrong flags, with places that take nothing and with ports that
end: one clear line, nothing lost silently."""

import fcntl
import os
import resource
import signal
import struct
import subprocess
import termios
import time
import unittest

import groups
import mcast
import netns
import script_main
from mcast import GROUP, PORT, payload

_GOOD = ['null:', f'--group={GROUP}', f'--udp_port={PORT}', '--ip=192.0.2.1',
         '--duration=100ms']

# As fcntl has it from Python 3.10 on.
_F_SETPIPE_SZ = 1031


def _unread(reader):
    """Bytes in a pipe."""
    return struct.unpack('i', fcntl.ioctl(reader, termios.FIONREAD, bytes(4)))[0]


class FlagsTest(unittest.TestCase):

    def assert_refused(self, arguments, says):
        done = mcast.run('recv', *arguments)
        self.assertEqual(done.returncode, 1, arguments)
        self.assertIn(says, done.stderr)
        self.assertEqual(done.stderr.count('\n'), 1, done.stderr)

    def test_wrong_flags_are_named(self):
        for flag, says in [
                ('--group=', '--group: want a multicast group'),
                ('--group=192.0.2.1', 'got 192.0.2.1'),
                (f'--group={GROUP},', 'got nothing'),
                ('--group=ff01::1', '--group: ff01::1 is of scope 1 (RFC 4291 '
                 'section 2.7), which never leaves a host; want one of a scope '
                 'from 2 on such as ff3e::8000:1'),
                ('--group=ff30::7', '--group: ff30::7 is of scope 0 (RFC 4291 '
                 'section 2.7), which is reserved; want one'),
                (f'--group={GROUP},{GROUP}', f'--group: {GROUP} is there twice'),
                ('--group=' + ','.join(f'232.0.{i // 200}.{i % 200}'
                                       for i in range(257)),
                 'want 256 groups at most, got 257'),
                ('--group=ff3e::8000:5', 'say what to tell routers of group '
                 'ff3e::8000:5 from: --ip=fe80::1'),
                ('--udp_port=0', '--udp_port: want a UDP port'),
                ('--udp_port=65536', 'got 65536'),
                ('--source=239.0.0.1', '--source: want an address of a host'),
                ('--source=somebody', 'got somebody'),
                ('--source=2001:db8::1', 'is of another family than every'),
                ('--source=' + ','.join(f'192.0.2.{i}' for i in range(65)),
                 'want 64 sources at most, got 65'),
                ('--ip=', 'there is no netdev below it; say what to tell '
                 f'routers of group {GROUP} from: --ip=192.0.2.1'),
                ('--ip=239.0.0.1', '--ip: want an address of null:'),
                ('--ip=2001:db8::1', 'one of its link such as fe80::1'),
                ('--ip=192.0.2.1,192.0.2.2', 'got 192.0.2.1,192.0.2.2'),
                ('--ip=fe80::1', '--ip=fe80::1 has no IPv4 address; say what'),
                ('--vlan=4095', '--vlan: want 1 to 4094'),
                ('--igmp_version=4', '--igmp_version: want 1 to 3, got 4'),
                ('--mld_version=0', '--mld_version: want 1 to 2, got 0'),
                ('--when_full=wait', '--when_full: want block or drop'),
                ('--rate=7', '--rate: a flag of send, not of recv'),
                ('--both_ways', '--both_ways: a flag of relay, not of recv'),
                ('--to=', '--to: want none, stdout, file:PATH'),
                ('--to=out', 'got out'),
                ('--to=file:', 'got file:'),
                ('--to=file:/does/not/exist', '--to: /does/not/exist: open: '),
                ('--to=pcap:/', '--to: /: open: '),
                ('--to=udp:192.0.2.1', 'got udp:192.0.2.1'),
                ('--to=udp:::1:5000', 'got udp:::1:5000'),
                ('--to=udp:[::1]:seven', '--to: udp:[::1]:seven: '),
                ('--to=udp:[fe80::1]:7', '--to: udp:[fe80::1]:7: connect: '
                 'Invalid argument; name its netdev too, such as '
                 'udp:[fe80::1%eth0]:7'),
                ('--to=udp:[::1]:0', 'from 1 to 65535, got 0'),
                ('--to=udp:192.0.2.1:70000', 'from 1 to 65535, got 70000')]:
            self.assert_refused([*_GOOD, flag], says)

    def test_sources_for_a_family_that_has_none(self):
        self.assert_refused(
            [*_GOOD, f'--group={GROUP},ff3e::8000:5', '--source=192.0.2.7'],
            '--source: none is of the family of --group=ff3e::8000:5')

    def test_it_wants_one_port(self):
        self.assert_refused(_GOOD[1:], 'recv: want exactly 1 port')
        self.assert_refused([*_GOOD, 'loopback:'],
                            'with two ports want two lines in each --group')

    def test_as_many_groups_as_there_may_be(self):
        many = ','.join(f'232.0.{i // 200}.{i % 200}' for i in range(256))
        done = mcast.run('recv', *_GOOD, f'--group={many}')
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        self.assertIn('232.0.1.55', done.stdout)


class WireTest(unittest.TestCase):

    def test_that_nobody_is_at_the_other_end(self):
        wire = f'wire:nobody{os.getpid()}'
        done = mcast.run('send', wire, *_GOOD[1:4], '--count=5')
        self.assertEqual(done.returncode, 0)
        self.assertEqual(
            done.stderr, f'mcast: port {wire}: frames not sent as nobody was '
            'at the other end (tx_no_peer): 5\n')


class PlaceTest(mcast.KernelCase):

    def failing(self, *arguments, stdout=None, file_bytes=None):
        """The error and report of a run to which datagrams came that it cannot deliver;
        its files may have so many bytes from when it has joined."""
        receiver = self.joined('packet:tokernel', *arguments, stdout=stdout)
        if file_bytes is not None:
            resource.prlimit(receiver.process.pid, resource.RLIMIT_FSIZE,
                             (file_bytes, file_bytes))
        while receiver.process.poll() is None:
            self.send(GROUP, *[payload(9000, i) for i in range(20)])
        code, report = receiver.wait()
        self.assertEqual(code, 1)
        errors = [line for line in receiver.stderr().splitlines()
                  if line.startswith('mcast: ') and 'warning' not in line]
        self.assertEqual(len(errors), 1, errors)
        # What was received and not delivered is counted.
        found = mcast.drops(report)
        self.assertGreater(found['delivery failed'], 0)
        self.assertEqual(sum(each['datagrams'] for each in report['groups']),
                         report['delivery']['datagrams'] +
                         found['delivery failed'] + found['unsent at stop'])
        return errors[0], report

    def test_a_full_disk(self):
        error, report = self.failing('--to=file:/dev/full')
        self.assertIn('--to: /dev/full: write: No space left on device', error)
        self.assertEqual(report['delivery']['partial_bytes'], 0)

    def test_a_full_disk_for_a_capture(self):
        done = mcast.run('recv', *_GOOD, '--to=pcap:/dev/full')
        self.assertEqual(done.returncode, 1)
        self.assertIn('--to: /dev/full: write: No space left on device',
                      done.stderr)

    def test_a_file_that_may_not_grow(self):
        out = self.path('payload')
        error, report = self.failing(f'--to=file:{out}', file_bytes=64 * 512)
        self.assertIn(f'--to: {out}: write: File too large', error)
        # Every byte it could have, in order.
        self.assertEqual(os.path.getsize(out), 64 * 512)
        delivery = report['delivery']
        self.assertEqual((delivery['bytes'], delivery['partial_bytes']),
                         (27000, 5768))
        with open(self.path('out')) as table:
            self.assertIn('delivered 3 datagrams, 27,000 bytes, and 5,768 bytes '
                          f'of one more to file:{out}', table.read())

    def test_a_pipe_that_is_closed(self):
        reader, writer = os.pipe()
        with os.fdopen(writer, 'wb') as out:
            os.close(reader)
            error, _ = self.failing('--to=stdout', stdout=out)
        self.assertIn('--to: stdout: write: Broken pipe', error)

    def test_a_pipe_that_nobody_reads_does_not_keep_it(self):
        """Nor does it keep routers from being told."""
        for count in [100, 2000]:
            reader, writer = os.pipe()
            self.addCleanup(os.close, reader)
            fcntl.fcntl(writer, _F_SETPIPE_SZ, 4096)
            with os.fdopen(writer, 'wb') as out:
                receiver = self.joined('packet:tokernel', '--to=stdout',
                                       stdout=out)
            self.send(GROUP, payload(9000),
                      *[payload(1400, i) for i in range(count)])
            # The first has no room.
            groups.wait_until(lambda: _unread(reader) == 4096, 'a full pipe')
            began = time.monotonic()
            code, report = receiver.stop()
            self.assertEqual(code, 0, receiver.stderr())
            self.sniffer.wait_record(mcast.IP, GROUP, mcast.TO_INCLUDE, began)
            found = mcast.drops(report)
            # What the port had no room for stays with the kernel.
            self.assertEqual(
                sum(each['datagrams'] for each in report['groups']),
                report['delivery']['datagrams'] + found['no room at the end'])
            self.assertGreater(found['no room at the end'], 0)
            self.assertEqual(report['delivery']['abandoned'],
                             found['no room at the end'])
            with os.fdopen(os.dup(reader), 'rb') as rest:
                self.assertEqual(report['delivery']['bytes'] +
                                 report['delivery']['partial_bytes'],
                                 len(rest.read()))

    def test_a_datagram_too_long_for_the_socket(self):
        # Of IPv6 a payload may be 20 bytes longer than UDP over IPv4 takes.
        netns.run('ip', 'link', 'set', 'lo', 'up')
        receiver = self.joined('packet:tokernel', '--to=udp:127.0.0.1:9',
                               '--count=1', group=mcast.GROUP6,
                               ip=mcast.LINK_IP)
        self.send(mcast.GROUP6, payload(65520), b'short')
        code, report = receiver.wait()
        self.assertEqual(code, 0)
        self.assertEqual(report['delivery']['bytes'], 5)
        found = mcast.drops(report)
        # Nobody listens at the port; the long one did not get that far.
        self.assertEqual((found['refused by the system'],
                          found['returned by ICMP']), (1, 1))


class PortTest(mcast.KernelCase):

    def test_a_port_that_goes(self):
        receiver = self.joined('packet:tokernel')
        self.kernel.run('ip', 'link', 'delete', 'veth0')
        # For what is cleaned up.
        self.addCleanup(netns.run, 'ip', 'link', 'add', 'tokernel', 'type',
                        'veth', 'peer', 'name', 'veth0')
        code = receiver.process.wait(groups.PATIENCE_SECONDS)
        self.assertEqual(code, 1)
        self.assertIn('its device is gone', receiver.stderr())

    def test_a_process_without_rights(self):
        nobody = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups',
                  '--bounding-set=-all', '--inh-caps=-all', mcast.PROGRAM]
        done = subprocess.run(
            [*nobody, 'recv', 'packet:tokernel', f'--group={GROUP}',
             f'--udp_port={PORT}', '--ip=192.0.2.1'], text=True, check=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 1)
        self.assertIn('CAP_NET_RAW', done.stderr)

    def test_a_netdev_without_addresses(self):
        netns.run('ip', 'addr', 'flush', 'dev', 'tokernel')
        for group, remedy in [(GROUP, '--ip=192.0.2.1'),
                              (mcast.GROUP6, '--ip=fe80::1')]:
            done = mcast.run('recv', 'packet:tokernel', f'--group={group}',
                             f'--udp_port={PORT}')
            self.assertEqual(done.returncode, 1)
            self.assertIn('netdev tokernel has no IPv', done.stderr)
            self.assertIn(remedy, done.stderr)

    def test_the_address_of_the_netdev_is_taken(self):
        netns.run('ip', 'addr', 'add', '192.0.2.77/24', 'dev', 'tokernel')
        self.receiver('packet:tokernel', f'--group={GROUP}', '--ip=')
        self.sniffer.wait_record('192.0.2.77', GROUP, mcast.TO_EXCLUDE)

    def test_one_that_is_killed_leaves_nothing_that_stands_in_the_way(self):
        for port in ['packet:tokernel', 'xdp:tokernel']:
            for _ in range(2):
                receiver = self.joined(port, '--count=1')
                receiver.process.send_signal(signal.SIGKILL)
                receiver.process.wait()
                self.sniffer = groups.Sniffer(self, self.kernel, 'veth0')
            receiver = self.joined(port, '--count=1')
            self.send(GROUP, b'x')
            self.assertEqual(receiver.wait()[0], 0)
            self.sniffer = groups.Sniffer(self, self.kernel, 'veth0')


if __name__ == '__main__':
    netns.enter()
    script_main.main()
