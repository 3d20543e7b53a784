#!/usr/bin/env python3
"""l2fwd with nothing to do: how much of a core it takes, and that it is awake
soon when something comes."""

import os
import socket
import time
import unittest

import l2fwd
import netns
import script_main

_SECONDS = 3
# Of a core: what all workers take, and what the program takes with its control
# thread, which counts ten times a second, and here without optimization (with
# it: 0.4 % in all).
_WORKERS_SHARE = 0.01
_WHOLE_SHARE = 0.06
_ETH_P_ALL = 3
_HEADER = bytes.fromhex('02000000000b02000000000a88b5')


def cpu_seconds(stat):
    """Processor time of a process or a thread, from its file in /proc."""
    with open(stat, encoding='utf-8') as file:
        fields = file.read().rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def shares_of_a_core(pid):
    """What it takes over some seconds: all of it, and all but its control
    thread."""
    def now():
        whole = cpu_seconds(f'/proc/{pid}/stat')
        return whole, whole - cpu_seconds(f'/proc/{pid}/task/{pid}/stat')

    before, begin = now(), time.monotonic()
    time.sleep(_SECONDS)
    took = time.monotonic() - begin
    return [(after - first) / took for after, first in zip(now(), before)]


def slowness():
    """A sanitizer works too, some of it in a thread of its own."""
    return 4 if l2fwd.is_sanitized() else 1


def assert_idle(test, pid):
    whole, workers = shares_of_a_core(pid)
    test.assertLess(whole, _WHOLE_SHARE * slowness())
    test.assertLess(workers, _WORKERS_SHARE * slowness())


def sleeps(ended):
    """Of all its lcores."""
    return sum(lcore['sleeps'] for lcore in ended.table['lcores'])


class IdleTest(unittest.TestCase):

    def assert_idles(self, *arguments):
        with l2fwd.started(*arguments) as forwarder:
            forwarder.wait_for_output('lcore')
            assert_idle(self, forwarder.pid)
            ended = forwarder.stop()
        self.assertEqual(ended.status, 0)
        self.assertGreater(sleeps(ended), 0)

    def wires(self, name):
        return [f'wire:idle-{os.getpid()}-{name}{i}' for i in (0, 1)]

    def test_sleeps_while_it_waits_for_wires(self):
        self.assert_idles(*self.wires('plain'))

    def test_sleeps_while_workers_wait_for_rings(self):
        self.assert_idles(*self.wires('rings'), '--workers=3')

    def test_polls_if_told_to(self):
        with l2fwd.started(*self.wires('polls'), '--busy_poll') as forwarder:
            forwarder.wait_for_output('idle lcores poll')
            self.assertGreater(shares_of_a_core(forwarder.pid)[1], 0.2)
            ended = forwarder.stop()
        self.assertEqual((ended.status, sleeps(ended)), (0, 0))


class IdleNetdevTest(unittest.TestCase):
    """left and right are the far ends of two pairs of netdevs."""

    def setUp(self):
        netns.require()
        self.sockets = []
        for i in (0, 1):
            netns.run('ip', 'link', 'add', f'near{i}', 'type', 'veth', 'peer',
                      'name', f'far{i}')
            self.addCleanup(netns.run, 'ip', 'link', 'delete', f'near{i}')
            for end in ('near', 'far'):
                # Nothing but what this test sends.
                with open(f'/proc/sys/net/ipv6/conf/{end}{i}/disable_ipv6', 'w',
                          encoding='ascii') as file:
                    file.write('1')
                netns.run('ip', 'link', 'set', f'{end}{i}', 'up')
            far = socket.socket(socket.AF_PACKET, socket.SOCK_RAW,
                                socket.htons(_ETH_P_ALL))
            far.bind((f'far{i}', 0))
            far.settimeout(l2fwd.PATIENCE_SECONDS)
            self.addCleanup(far.close)
            self.sockets.append(far)

    def pass_through(self, number):
        """Seconds that a frame takes from one far end to the other."""
        frame = _HEADER + number.to_bytes(4, 'big') + bytes(42)
        begin = time.monotonic()
        self.sockets[0].send(frame)
        while self.sockets[1].recv(2048) != frame:
            pass
        return time.monotonic() - begin

    def check(self, kind, *flags):
        with l2fwd.started(f'{kind}:near0', f'{kind}:near1', *flags) as forwarder:
            forwarder.wait_for_output('lcore')
            self.pass_through(0)
            assert_idle(self, forwarder.pid)
            # Long enough apart that it sleeps in between.
            took = []
            for number in range(1, 101):
                time.sleep(0.005 * slowness())
                took.append(self.pass_through(number))
            ended = forwarder.stop()
        self.assertEqual(ended.status, 0)
        self.assertGreater(sleeps(ended), 100)
        self.assertEqual(ended.table['packets']['sent'], 101)
        # However busy the machine is, some find it free. Without a wake-up a
        # frame would wait for what is left of a sleep of 100 ms: nine of ten
        # for more than 10.
        self.assertLess(sorted(took)[10], 0.005)

    def test_is_woken_by_a_frame_at_a_packet_port(self):
        self.check('packet')

    def test_is_woken_by_a_frame_at_an_xdp_port(self):
        self.check('xdp')

    def test_is_woken_through_rings(self):
        self.check('packet', '--workers=3')


if __name__ == '__main__':
    netns.enter()
    script_main.main()
