#!/usr/bin/env python3
"""mcast recv: what kernel sockets send to a group is delivered, and nothing
else.

    sockets (192.0.2.2, 2001:db8::2) ==veth== mcast recv packet:tokernel
"""

import os
import socket
import subprocess
import sys
import threading
import unittest

import groups
import mcast
import netns
import script_main
import vlan_relay
from mcast import GROUP, GROUP6, LINK_IP, PORT, payload

_SIZES = [1, 100, 1472, 1473, 9000, 60000, 65507]


def _ip_for(group):
    return LINK_IP if ':' in group else mcast.IP


class DeliveryTest(mcast.KernelCase):

    def assert_delivered(self, port, group, *arguments, netdev='veth0'):
        """Datagrams of all sizes come byte for byte."""
        payloads = [payload(size) for size in _SIZES]
        whole = b''.join(payloads)
        out = self.path('payload')
        receiver = self.joined(port, f'--to=file:{out}',
                               f'--count={len(payloads)}', *arguments,
                               group=group, ip=_ip_for(group))
        self.send(group, *payloads, netdev=netdev)
        code, report = receiver.wait()
        self.assertEqual((code, receiver.stderr()), (0, ''))
        with open(out, 'rb') as file:
            self.assertEqual(file.read(), whole)
        os.unlink(out)
        self.assertEqual(
            [(each['group'], each['datagrams'], each['bytes'])
             for each in report['groups']],
            [(group, len(payloads), len(whole))])
        self.assertEqual(report['delivery']['datagrams'], len(payloads))
        self.assertEqual(report['delivery']['bytes'], len(whole))

    def test_ipv4_over_packet(self):
        self.assert_delivered('packet:tokernel', GROUP)

    def test_ipv6_over_packet(self):
        self.assert_delivered('packet:tokernel', GROUP6)

    def test_ipv4_over_xdp(self):
        self.assert_delivered('xdp:tokernel', GROUP)

    def test_ipv6_over_xdp(self):
        self.assert_delivered('xdp:tokernel', GROUP6)

    def test_a_vlan(self):
        vlan_relay.add(self, self.kernel, '198.51.100.3/25')
        for port in ['packet:tokernel', 'xdp:tokernel']:
            self.assert_delivered(port, GROUP, '--vlan=7', netdev='vlan7')

    def test_both_families_at_once(self):
        both = f'{GROUP},{GROUP6}'
        receiver = self.receiver('packet:tokernel', f'--group={both}',
                                 '--count=2', ip=f'{mcast.IP},{LINK_IP}')
        for group in [GROUP, GROUP6]:
            self.sniffer.wait_record(_ip_for(group), group, mcast.TO_EXCLUDE)
            self.send(group, b'12345')
        code, report = receiver.wait()
        self.assertEqual((code, receiver.stderr()), (0, ''))
        self.assertEqual({each['group']: each['bytes']
                          for each in report['groups']},
                         {GROUP: 5, GROUP6: 5})

    def test_what_mcast_sends(self):
        data = payload(100000)
        source, out = self.path('source'), self.path('payload')
        with open(source, 'wb') as file:
            file.write(data)
        receiver = self.joined('packet:tokernel', f'--to=file:{out}',
                               '--count=12')
        self.kernel.run(mcast.PROGRAM, 'send', 'packet:veth0',
                        f'--group={GROUP}', f'--udp_port={PORT}',
                        f'--file={source}', '--size=9000')
        self.assertEqual(receiver.wait()[0], 0)
        with open(out, 'rb') as file:
            self.assertEqual(file.read(), data)


class WhereToTest(mcast.KernelCase):

    payloads = [payload(size) for size in [100, 0, 9000, 60000]]

    def deliver(self, *arguments, stdout=None):
        receiver = self.joined('packet:tokernel', '--count=4', *arguments,
                               stdout=stdout)
        self.send(GROUP, *self.payloads)
        return receiver

    def test_standard_output_has_payload_and_nothing_else(self):
        with open(self.path('stdout'), 'w+b') as out:
            receiver = self.deliver('--to=stdout', stdout=out)
            self.assertEqual(receiver.wait()[0], 0)
            out.seek(0)
            self.assertEqual(out.read(), b''.join(self.payloads))
        self.assertIn('delivered 4 datagrams, 69,100 bytes to stdout',
                      receiver.stderr())

    def test_a_pipe_that_is_read_slowly_gets_all(self):
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        # Four pages: much is written in part.
        with os.fdopen(writer, 'wb') as out:
            receiver = self.deliver('--to=stdout', stdout=out)
        got = b''
        while len(got) < 69100:
            got += os.read(reader, 1000)
        self.assertEqual(got, b''.join(self.payloads))
        self.assertEqual(receiver.wait()[0], 0)

    def test_a_file_is_appended_to(self):
        out = self.path('payload')
        with open(out, 'wb') as file:
            file.write(b'before')
        self.assertEqual(self.deliver(f'--to=file:{out}').wait()[0], 0)
        with open(out, 'rb') as file:
            self.assertEqual(file.read(), b'before' + b''.join(self.payloads))

    def test_a_socket(self):
        for family, host in [(socket.AF_INET, '127.0.0.1'),
                             (socket.AF_INET6, '::1')]:
            netns.run('ip', 'link', 'set', 'lo', 'up')
            with socket.socket(family, socket.SOCK_DGRAM) as to:
                to.bind((host, 0))
                to.settimeout(groups.PATIENCE_SECONDS)
                name = f'[{host}]' if ':' in host else host
                receiver = self.deliver(
                    f'--to=udp:{name}:{to.getsockname()[1]}')
                for data in self.payloads:
                    self.assertEqual(to.recv(65536), data)
                code, report = receiver.wait()
                self.assertEqual(code, 0)
                self.assertEqual(report['delivery']['refused'], 0)

    def test_a_socket_that_nobody_reads(self):
        netns.run('ip', 'link', 'set', 'lo', 'up')
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as closed:
            closed.bind(('127.0.0.1', 0))
            port = closed.getsockname()[1]
        receiver = self.deliver(f'--to=udp:127.0.0.1:{port}')
        code, report = receiver.wait()
        self.assertEqual(code, 0)
        self.assertEqual(report['delivery']['datagrams'], 4)
        # The kernel says so of each at once.
        self.assertEqual(report['delivery']['returned'], 4)
        self.assertEqual(mcast.drops(report)['returned by ICMP'], 4)
        self.assertIn('; 4 of them came back by ICMP', receiver.stdout())

    def test_a_fifo_gets_all_whenever_it_is_opened(self):
        fifo = self.path('fifo')
        os.mkfifo(fifo)
        receiver = self.deliver(f'--to=file:{fifo}')
        with open(fifo, 'rb') as reader:
            self.assertEqual(reader.read(), b''.join(self.payloads))
        self.assertEqual(receiver.wait()[0], 0)

    def test_a_capture_has_whole_frames(self):
        out = self.path('out.pcap')
        code, _ = self.deliver(f'--to=pcap:{out}').wait()
        self.assertEqual(code, 0)
        records = mcast.records_of(out)
        # Behind Ethernet, IPv4 and UDP, without padding.
        self.assertEqual([frame[42:42 + len(data)]
                          for (_, frame), data in zip(records, self.payloads)],
                         self.payloads)
        self.assertTrue(all(frame[:6] == groups.group_mac(GROUP)
                            for _, frame in records))
        times = [when for when, _ in records]
        self.assertEqual(times, sorted(times))
        self.assertGreater(times[0], 10**18)

    def test_nowhere_is_the_default(self):
        receiver = self.deliver()
        code, report = receiver.wait()
        self.assertEqual((code, receiver.stderr()), (0, ''))
        self.assertEqual(report['delivery']['to'], 'none')
        self.assertIn('counted 4 datagrams, 69,100 bytes', receiver.stdout())
        self.assertRegex(receiver.stdout(),
                         rf'{GROUP} +flow +4 +69,100\n')

    def test_no_more_than_the_count_are_delivered(self):
        out = self.path('payload')
        receiver = self.joined('packet:tokernel', '--count=3',
                               f'--to=file:{out}')
        self.send(GROUP, *[b'%04d' % i for i in range(100)])
        self.assertEqual(receiver.wait()[0], 0)
        self.sniffer.wait_record(mcast.IP, GROUP, mcast.TO_INCLUDE)
        with open(out, 'rb') as file:
            self.assertEqual(file.read(), b'000000010002')


class FilterTest(mcast.KernelCase):

    def receive(self, sends, *arguments, ports=('packet:tokernel',
                                                'xdp:tokernel'), **joined):
        """What is delivered, and drops, of `sends`: (group, payload, more)."""
        for port in ports:
            out = self.path('payload')
            receiver = self.joined(port, f'--to=file:{out}', '--count=1',
                                   *arguments, **joined)
            for group, data, more in sends:
                self.send(group, data, **more)
            self.send(joined.get('last', GROUP), b'last', source='192.0.2.9')
            code, report = receiver.wait()
            self.assertEqual(code, 0, receiver.stderr())
            with open(out, 'rb') as file:
                self.assertEqual(file.read(), b'last', port)
            os.unlink(out)
            yield mcast.drops(report)

    def test_another_group_of_the_same_mac(self):
        other = '239.124.0.5'
        self.assertEqual(groups.group_mac(other), groups.group_mac(GROUP))
        for drops in self.receive([(other, b'other', {})]):
            self.assertEqual(drops['group not joined'], 1)

    def test_another_port(self):
        for drops in self.receive([(GROUP, b'other', {'port': PORT + 1})]):
            self.assertEqual(drops['another UDP port'], 1)

    def test_sources_that_are_not_wanted(self):
        for drops in self.receive([(GROUP, b'other', {'source': '192.0.2.2'}),
                                   (GROUP, payload(9000),
                                    {'source': '192.0.2.2'})],
                                  '--source=192.0.2.9,192.0.2.10',
                                  kind=mcast.ALLOW):
            # One datagram, and the seven fragments of another.
            self.assertEqual(drops['source not wanted'], 8)

    def test_two_groups_of_one_mac(self):
        two = f'{GROUP},239.124.0.5'
        receiver = self.joined('packet:tokernel', '--count=2', group=two)
        for group in two.split(','):
            self.send(group, b'x')
        code, report = receiver.wait()
        self.assertEqual(code, 0)
        self.assertEqual([each['datagrams'] for each in report['groups']],
                         [1, 1])

    def test_what_is_for_others_does_not_come(self):
        receiver = self.joined('packet:tokernel')
        frame = bytes.fromhex('020000000099' '0200000000ff' '88b5')
        for _ in range(10):
            self.inject(frame.ljust(60, b'\0'))
        self.send(GROUP, b'x')
        code, report = receiver.stop()
        self.assertEqual(code, 0)
        self.assertEqual(mcast.drops(report)['not IP'], 0)

    def test_datagrams_with_wrong_checksums(self):
        receiver = self.joined('packet:tokernel')
        frame = (groups.group_mac(GROUP) + bytes.fromhex(
            '020000000002' '0800' '45000021' '00010000' '0111' '0000') +
            socket.inet_aton('192.0.2.2') + socket.inet_aton(GROUP) +
            bytes.fromhex('1388' '1389' '000d' 'beef') + b'12345')
        header = groups.checksum(frame[14:34]).to_bytes(2, 'big')
        self.inject((frame[:24] + header + frame[26:]).ljust(60, b'\0'))
        self.inject(frame.ljust(60, b'\0'))
        self.send(GROUP, b'x')
        groups.wait_until(lambda: len(self.sniffer.frames('out')) >= 3,
                          'frames')
        code, report = receiver.stop()
        self.assertEqual(code, 0)
        found = mcast.drops(report)
        self.assertEqual((found['UDP checksum'], found['IPv4 header checksum']),
                         (1, 1))


class ManyTest(mcast.KernelCase):

    def test_a_reader_that_stands_still_loses_nothing_silently(self):
        """What a pipe, the ring and the port have no room for is counted."""
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        with os.fdopen(writer, 'wb') as out:
            receiver = self.joined('packet:tokernel', '--to=stdout',
                                   '--when_full=drop', stdout=out)
        data = [payload(1400, i) for i in range(2000)]
        self.send(GROUP, *data)
        # Queries are answered still.
        before = self.sniffer.frames('out')[-1][0]
        self.inject(groups.igmp_query(max_response=1))
        self.sniffer.wait_record(mcast.IP, GROUP, mcast.IS_EXCLUDE, before)
        got = bytearray()

        def read():
            while chunk := os.read(reader, 1 << 16):
                got.extend(chunk)

        thread = threading.Thread(target=read)
        thread.start()
        code, report = receiver.stop()
        thread.join()
        self.assertEqual(code, 0, receiver.stderr())
        dropped = mcast.drops(report)['ring full, newest']
        self.assertGreater(dropped, 0)
        counters = report['ports'][0]['device_counters']
        lost = sum(counters[name] for name in mcast.DEVICE_LOSSES)
        self.assertEqual(report['delivery']['datagrams'] + dropped + lost, 2000)
        self.assertEqual(len(got), report['delivery']['bytes'])


if __name__ == '__main__':
    netns.enter()
    script_main.main()
