#!/usr/bin/env python3
"""mcast recv --sequence: what is said of numbers agrees with what links do to
them, and of two lines each number is delivered once.

    mcast send ==wire, which loses, doubles and reorders== mcast recv
"""

import json
import os
import random
import re
import signal
import socket
import struct
import subprocess
import tempfile
import time
import unittest

import script_main

_PROGRAM = os.path.abspath('apps/mcast/mcast')
_PATIENCE_SECONDS = 60
_A, _B = '233.252.0.1', '233.252.0.2'
_PORT = 5001
_SIZE = 100
_COUNT = 5000


def _numbers(path):
    """Those in the stamps of payloads of _SIZE."""
    with open(path, 'rb') as file:
        data = file.read()
    assert len(data) % _SIZE == 0
    found = []
    for at in range(0, len(data), _SIZE):
        magic, version, number, _ = struct.unpack_from('>4sIQQ', data, at)
        assert (magic, version) == (b'weir', 1)
        found.append(number)
    return found


def _expected(numbers, bits=None):
    """What is to be counted of `numbers`, in the order in which they came, by
    sets; `bits` if they wrap."""
    if bits:
        wide = [numbers[0] + (1 << bits)]
        for number in numbers[1:]:
            step = (number - wide[-1]) % (1 << bits)
            wide.append(wide[-1] + step - (step >> (bits - 1) << bits))
        numbers = wide
    seen, counts = set(), {'late': 0, 'duplicates': 0}
    for number in numbers:
        if number in seen:
            counts['duplicates'] += 1
        elif seen and number < max(seen):
            counts['late'] += 1
        seen.add(number)
    return {'received': len(seen),
            'lost': max(seen) - min(seen) + 1 - len(seen), **counts,
            'too_old': 0, 'restarts': 0}


def _counts(row):
    return {name: row[name] for name in ['received', 'lost', 'late',
                                         'duplicates', 'too_old', 'restarts']}


class SequenceCase(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.wire = f'sequence{os.getpid()}-{time.monotonic_ns()}'

    def path(self, name):
        return os.path.join(self.folder, name)

    def start(self, *arguments):
        """recv, once it runs."""
        with open(self.path('err'), 'wb') as errors:
            process = subprocess.Popen(
                [_PROGRAM, 'recv', f'--udp_port={_PORT}', '--ip=192.0.2.9',
                 '--stats=0', f'--json={self.path("json")}',
                 f'--to=file:{self.path("out")}', *arguments],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors,
                text=True)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdout.close)
        # The plan is printed when ports are open and groups are joined.
        self.assertTrue(process.stdout.readline())
        for line in process.stdout:
            if line.startswith('control thread'):
                return process
        with open(self.path('err')) as file:
            self.fail(file.read())

    def send(self, wire, group, *arguments):
        return subprocess.Popen(
            [_PROGRAM, 'send', f'wire:{wire}', f'--group={group}',
             f'--udp_port={_PORT}', '--ip=192.0.2.1', f'--size={_SIZE}',
             f'--count={_COUNT}', '--rate=20000', '--sequence=weir',
             '--stats=0', *arguments],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    def finish(self, receiver, senders):
        """Waits for all; the report and the numbers that were delivered."""
        for sender in senders:
            self.assertEqual(sender.wait(_PATIENCE_SECONDS), 0)
        # What waits to be overtaken does so for 50 ms: until nothing comes any
        # more for longer than that.
        deadline = time.monotonic() + _PATIENCE_SECONDS
        size, since = -1, time.monotonic()
        while time.monotonic() - since < 0.5:
            self.assertLess(time.monotonic(), deadline)
            if os.path.getsize(self.path('out')) != size:
                size, since = os.path.getsize(self.path('out')), time.monotonic()
            time.sleep(0.02)
        receiver.send_signal(signal.SIGINT)
        self.text = receiver.communicate(timeout=_PATIENCE_SECONDS)[0]
        self.assertEqual(receiver.returncode, 0)
        with open(self.path('json')) as file:
            report = json.load(file)
        numbers = _numbers(self.path('out'))
        os.unlink(self.path('out'))
        return report, numbers

    def line(self, key, bad, group, *arguments):
        """One line alone: its report and what it delivered."""
        wire = f'{self.wire}-{key}'
        receiver = self.start(f'wire:{wire},{bad}', f'--group={group}',
                              '--sequence=weir', *arguments)
        return self.finish(receiver, [self.send(wire, group)])


class BadLinkTest(SequenceCase):

    def test_a_good_link_loses_nothing(self):
        report, numbers = self.line('good', 'mtu=1500', _A)
        self.assertEqual(numbers, list(range(_COUNT)))
        stream, = report['sequence']['streams']
        self.assertEqual((stream['source'], stream['group']), ('192.0.2.1', _A))
        self.assertEqual(_counts(stream), _expected(numbers))
        latency = report['sequence']['latency']
        self.assertEqual(latency['count'] + latency['negative'], _COUNT)
        self.assertLessEqual(latency['p50_ns'], latency['p99_ns'])
        self.assertLessEqual(latency['p99_ns'], latency['max_ns'])
        self.assertGreater(latency['max_ns'], 0)

    def test_counts_agree_with_what_the_link_did(self):
        report, numbers = self.line(
            'bad', 'loss=5%,dup=3%,reorder=4%,seed=11,impair=rx', _A,
            '--stats=200ms')
        stream, = report['sequence']['streams']
        self.assertEqual(_counts(stream), _expected(numbers))
        device = report['ports'][0]['device_counters']
        self.assertGreater(device['rx_lost'], 100)
        self.assertEqual(stream['received'], _COUNT - device['rx_lost'])
        self.assertEqual(stream['duplicates'], device['rx_duplicated'])
        self.assertGreater(stream['late'], 50)
        self.assertLessEqual(stream['late'], device['rx_reordered'])
        said = [list(map(int, found)) for found in re.findall(
            r'numbers: lost (-?\d+), late (\d+), twice (\d+); latency so far '
            r'p50 [\d.]+ us, p99', self.text)]
        self.assertTrue(said)
        for name, count in zip(['lost', 'late', 'duplicates'], zip(*said)):
            self.assertLessEqual(abs(sum(count) - stream[name]), 30)

    def test_a_sender_that_begins_anew_is_no_loss(self):
        wire = f'{self.wire}-anew'
        receiver = self.start(f'wire:{wire}', f'--group={_A}',
                              '--sequence=weir')
        for _ in range(2):
            self.assertEqual(
                self.send(wire, _A, '--count=300').wait(_PATIENCE_SECONDS), 0)
        report, numbers = self.finish(receiver, [])
        self.assertEqual(numbers, 2 * list(range(300)))
        stream, = report['sequence']['streams']
        self.assertEqual(_counts(stream),
                         {'received': 600, 'lost': 0, 'late': 0,
                          'duplicates': 0, 'too_old': 0, 'restarts': 1})


class TwoLinesTest(SequenceCase):

    bad = {_A: 'loss=10%,dup=2%,reorder=5%,seed=7,impair=rx',
           _B: 'loss=10%,dup=1%,reorder=3%,seed=8,impair=rx'}

    def assert_filled(self, pair, numbers, alone):
        """`alone`: what each line brings by itself."""
        self.assertEqual(len(set(numbers)), len(numbers))
        self.assertEqual(set(numbers), set(alone[_A]) | set(alone[_B]))
        # About one in a hundred.
        self.assertGreater(_COUNT - len(numbers), 10)
        self.assertLess(_COUNT - len(numbers), 150)
        self.assertEqual(pair['received'], len(numbers))
        self.assertEqual(pair['lost'],
                         max(numbers) - min(numbers) + 1 - len(numbers))
        self.assertEqual(pair['restarts'], 0)
        brought = {group: set(found) for group, found in alone.items()}
        for line, other in zip(pair['lines'], reversed(pair['lines'])):
            mine, others = brought[line['group']], brought[other['group']]
            self.assertEqual(line['received'], len(mine))
            self.assertEqual(line['filled'], len(others - mine))
            self.assertEqual(line['duplicates'],
                             len(alone[line['group']]) - len(mine))
        self.assertEqual(sum(line['first'] for line in pair['lines']),
                         len(numbers))

    # What becomes of frame N depends on the seed and N alone: each line loses
    # the same when it is alone.
    def test_each_number_is_delivered_once_from_two_ports(self):
        alone, wires = {}, {}
        for key, group in [('a', _A), ('b', _B)]:
            report, alone[group] = self.line(key, self.bad[group], group)
            wires[group] = f'{self.wire}-both-{key}'
        receiver = self.start(*(f'wire:{wires[group]},{self.bad[group]}'
                                for group in [_A, _B]),
                              f'--group={_A}+{_B}', '--sequence=weir')
        # A line that is a second late still fills gaps.
        report, numbers = self.finish(
            receiver, [self.send(wires[group], group, '--rate=1000')
                       for group in [_A, _B]])
        pair, = report['sequence']['pairs']
        self.assert_filled(pair, numbers, alone)
        for port, line in zip(report['ports'], pair['lines']):
            self.assertEqual(line['received'],
                             _COUNT - port['device_counters']['rx_lost'])
        came = {one['group']: one['datagrams'] for one in report['groups']}
        self.assertEqual(
            [came[group] for group in [_A, _B]],
            [line['received'] + line['duplicates'] for line in pair['lines']])

    def test_two_ports_have_names_of_their_own(self):
        wire = f'wire:{self.wire}-same'
        done = subprocess.run(
            [_PROGRAM, 'recv', wire, wire, f'--group={_A}+{_B}',
             f'--udp_port={_PORT}', '--ip=192.0.2.9', '--sequence=weir'],
            stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=_PATIENCE_SECONDS, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn(f'got {wire} twice', done.stderr)


def _checksum(data):
    total = sum(struct.unpack(f'>{len(data) // 2}H', data))
    return 65535 - total % 65535


def _frame(group, payload):
    """UDP without a checksum."""
    udp = struct.pack('>HHHH', 9, _PORT, 8 + len(payload), 0) + payload
    start = struct.pack('>BBHHHBB', 0x45, 0, 20 + len(udp), 0, 0, 1, 17)
    addresses = socket.inet_aton('192.0.2.1') + socket.inet_aton(group)
    ip = (start + struct.pack('>H', _checksum(start + b'\0\0' + addresses)) +
          addresses)
    low = socket.inet_aton(group)[1:]
    mac = bytes([1, 0, 0x5e, low[0] & 0x7f]) + low[1:]
    return (mac + bytes.fromhex('02000000000a0800') + ip + udp).ljust(60, b'\0')


def _rtp(number, ssrc):
    """RFC 3550 §5.1, sent once a millisecond by a clock of 90 kHz."""
    return struct.pack('>BBHII', 0x80, 33, number & 65535, 90 * number, ssrc)


class CaptureTest(SequenceCase):

    def receive(self, frames, *arguments):
        """What recv says of `frames`, a millisecond apart: text, report."""
        with open(self.path('in.pcap'), 'wb') as file:
            file.write(struct.pack('=IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 65535,
                                   1))
            for at, frame in enumerate(frames):
                file.write(struct.pack('=IIII', 1000 + at // 1000,
                                       at % 1000 * 1000, len(frame),
                                       len(frame)) + frame)
        done = subprocess.run(
            [_PROGRAM, 'recv', f'pcap:{self.path("in.pcap")},out='
             f'{self.path("out.pcap")}', f'--udp_port={_PORT}',
             '--ip=192.0.2.9', f'--json={self.path("json")}',
             f'--to=file:{self.path("out")}', *arguments],
            stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=_PATIENCE_SECONDS, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        with open(self.path('json')) as file:
            return done.stdout, json.load(file)['sequence']

    def test_streams_of_rtp_are_followed_over_the_wrap(self):
        numbers = [number for number in range(65000, 70000)
                   if number % 100 != 7]
        numbers[200], numbers[203] = numbers[203], numbers[200]
        frames = [_frame(_A, _rtp(number, 1)) for number in numbers]
        frames.insert(9, _frame(_A, _rtp(3, 0xabcdef01)))
        text, report = self.receive(frames, f'--group={_A}', '--sequence=rtp')
        streams = {stream['ssrc']: stream for stream in report['streams']}
        self.assertEqual(sorted(streams), [1, 0xabcdef01])
        self.assertEqual(_counts(streams[1]),
                         _expected([number & 65535 for number in numbers], 16))
        # Sent and captured at the same pace, save for what is missing.
        self.assertLess(streams[1]['jitter_ns'], 1_000_000)
        self.assertIn('192.0.2.1:9 > 233.252.0.1:5001 abcdef01', text)

    def test_two_lines_may_come_by_one_port(self):
        chance = random.Random(5)
        came, frames = {_A: [], _B: []}, []
        for number in range(3000):
            for group in [_A, _B]:
                if chance.random() >= 0.1:
                    came[group].append(number)
                    frames.append(_frame(group, _rtp(number, 7) +
                                         struct.pack('>I', number)))
        _, report = self.receive(frames, f'--group={_A}+{_B}',
                                 '--sequence=rtp')
        either = sorted(set(came[_A]) | set(came[_B]))
        with open(self.path('out'), 'rb') as file:
            delivered = [struct.unpack('>I', payload[12:])[0] for payload in
                         iter(lambda: file.read(16), b'')]
        self.assertEqual(delivered, either)
        pair, = report['pairs']
        self.assertEqual(pair['received'], len(either))
        self.assertEqual(pair['lost'], either[-1] - either[0] + 1 - len(either))
        self.assertEqual([line['received'] for line in pair['lines']],
                         [len(came[_A]), len(came[_B])])
        self.assertEqual(pair['lines'][0]['first'], len(came[_A]))


class FlagsTest(unittest.TestCase):

    def test_wrong_flags_are_named(self):
        for arguments, says in [
                (['--group=233.252.0.1+233.252.0.2'],
                 'two lines of one stream need numbers: --sequence='),
                (['--group=233.252.0.1+233.252.0.2+233.252.0.3',
                  '--sequence=rtp'], 'want a group, or two lines as A+B'),
                (['--group=233.252.0.1+233.252.0.1', '--sequence=rtp'],
                 'is there twice'),
                (['--group=233.252.0.1', '--sequence=udp'],
                 '--sequence: want none, weir or rtp, got udp'),
                (['--group=233.252.0.1', '--sequence=rtp', '--rtp_clock=0'],
                 '--rtp_clock: want 1 or more'),
                (['loopback:', '--group=233.252.0.1', '--sequence=rtp'],
                 'with two ports want two lines')]:
            done = subprocess.run(
                [_PROGRAM, 'recv', 'null:', '--udp_port=5001',
                 '--ip=192.0.2.9', '--duration=1', *arguments],
                stdin=subprocess.DEVNULL, capture_output=True, text=True,
                timeout=_PATIENCE_SECONDS, check=False)
            self.assertEqual(done.returncode, 1, arguments)
            self.assertIn(says, done.stderr)


if __name__ == '__main__':
    script_main.main()
