#!/usr/bin/env python3
"""l2fwd meets the faults of hardware, on request: it recovers where that is
possible, says so where it is not, and loses no frame without a name."""

import collections
import os
import tempfile
import unittest

import captures
import l2fwd
import script_main
import table

_FRAMES = 5_000


def _matches(begins, lines):
    """Whether there is one line for each of `begins`, and no other."""
    left = list(lines)
    for begin in begins:
        line = next((line for line in left if line.startswith(begin)), None)
        if line is None:
            return False
        left.remove(line)
    return not left


def _link_failed(port):
    """What is said of a link that was down for so short a time that it may be
    up again before anyone looks: in one line or in two, of which the second is
    for those who are still there."""
    return (((port, 'link was down; link is up again'),),
            ((port, 'link is down; what is sent is dropped'),
             (port, 'link is up again')),
            ((port, 'link is down; what is sent is dropped'),))


# A queue that fails again is told of in the same line, or a second later.
_FAILED_OFTEN = ((0, 'rx0 failed'),)


class FaultsTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.input = os.path.join(folder.name, 'in.pcap')
        self.output = os.path.join(folder.name, 'out.pcap')
        self.frames = captures.many(_FRAMES)
        captures.write_pcap(self.input, self.frames)

    def checked(self, ended, status=0):
        """The ports of a table in which every frame is found again."""
        self.assertEqual(ended.status, status, ended)
        self.assertEqual(table.unbalanced(ended.table), [])
        self.assertIn('packets: ', ended.stdout)
        for port in ended.table['ports']:
            device = port['device_counters']
            self.assertEqual(
                device['rx_frames'],
                sum(device[name] for name in (
                    'rx_delivered', 'unmatched', 'rx_flow_dropped',
                    'out_of_buffer', 'rx_oversize', 'rx_not_ready', 'rx_errors',
                    'rx_cq_overrun', 'rx_link_down')), port['name'])
        return ended.table['ports']

    def assert_says_one_of(self, ways, keys, ended):
        """Each way is a line for each entry, the number of a port and how the
        text begins; and nothing else is said."""
        lines = ended.stderr.splitlines()
        self.assertTrue(
            any(_matches([f'l2fwd: port {keys[port]}: {text}'
                          for port, text in way], lines)
                for way in ways), ended.stderr)

    def forward(self, *said, or_else=(), receive='', send=''):
        """Forwards the capture; the two ports, and the frames that came out.
        It says all of `said`, or one of the other ways."""
        keys = [f'pcap:{self.input}{receive}', f'pcap:,out={self.output}{send}']
        ended = l2fwd.outcome(*keys)
        self.assert_says_one_of([said, *or_else], keys, ended)
        return self.checked(ended), captures.read_pcap(self.output)

    def queue(self, port, name):
        return next(queue for queue in port['queues'] if queue['name'] == name)

    def assert_received_again(self, into, frames, errors, recoveries):
        """Lost is what met an error, or arrived before the queue pair was ready
        again."""
        device = into['device_counters']
        self.assertEqual(device['rx_errors'], errors)
        self.assertEqual(len(frames),
                         _FRAMES - errors - device['rx_not_ready'])
        self.assertLess(device['rx_not_ready'], 500)
        self.assertLessEqual(set(frames), set(self.frames))
        self.assertEqual(self.queue(into, 'rx0')['recoveries'], recoveries)

    def test_recovers_from_a_receive_error(self):
        (into, _), frames = self.forward(
            (0, 'rx0 failed (loc_prot); it is reset and filled again'),
            receive=',fault=recv_error@1000')
        self.assertEqual(frames[:999], self.frames[:999])
        self.assert_received_again(into, frames, errors=1, recoveries=1)

    def test_recovers_from_an_error_of_the_receiving_queue_pair(self):
        (into, _), frames = self.forward((0, 'rx0 failed (in_error)'),
                                         receive=',fault=qp_error@1000')
        self.assertEqual(frames[:999], self.frames[:999])
        self.assert_received_again(into, frames, errors=0, recoveries=1)

    def assert_sent_again(self, out, frames):
        """Which frames were sent before the error cannot be known: those that
        may not have been count as lost."""
        lost = self.queue(out, 'tx0')['drops']['lost-in-recovery']
        self.assertEqual(frames[:999], self.frames[:999])
        self.assertEqual(len(frames), out['device_counters']['tx_frames'])
        self.assertLess(len(frames), _FRAMES)
        self.assertGreaterEqual(len(frames), _FRAMES - lost)
        self.assertLessEqual(set(frames), set(self.frames))
        self.assertEqual(self.queue(out, 'tx0')['recoveries'], 1)

    def test_recovers_from_a_send_error_and_counts_what_it_lost(self):
        (_, out), frames = self.forward((1, 'tx0 failed (loc_qp_op)'),
                                        send=',fault=send_error@1000')
        self.assert_sent_again(out, frames)

    def test_recovers_from_an_error_of_the_sending_queue_pair(self):
        # What it could receive fails too, which it meets if it still tries.
        failed = (1, 'tx0 failed (in_error)')
        (_, out), frames = self.forward(failed,
                                        or_else=[(failed, (1, 'rx0 failed'))],
                                        send=',fault=qp_error@1000')
        self.assert_sent_again(out, frames)

    def test_recovers_from_one_error_after_the_other(self):
        ports, frames = self.forward(
            *_FAILED_OFTEN, or_else=[_FAILED_OFTEN * 2],
            receive=',fault=recv_error@10+qp_error@50+recv_error@2000+'
            'qp_error@3000')
        self.assert_received_again(ports[0], frames, errors=2, recoveries=4)

    def test_goes_on_after_the_port_was_down(self):
        said, *or_else = _link_failed(0)
        (into, _), frames = self.forward(*said, or_else=or_else,
                                         receive=',fault=port_down@1000:1ms')
        device = into['device_counters']
        self.assertEqual(frames[:999], self.frames[:999])
        self.assertEqual(len(frames), _FRAMES - device['rx_link_down'])
        said, *or_else = _link_failed(1)
        (_, out), frames = self.forward(*said, or_else=or_else,
                                        send=',fault=port_down@1000:1ms')
        self.assertEqual(frames[:999], self.frames[:999])
        self.assertEqual(len(frames),
                         _FRAMES - out['device_counters']['tx_dropped'])

    def test_says_that_the_link_is_up_again(self):
        keys = ['null:,fault=port_down@1000:20ms', 'null:']
        ended = l2fwd.outcome(*keys, '--duration=1')
        self.assert_says_one_of(_link_failed(0)[:2], keys, ended)
        self.checked(ended)

    def test_ends_and_says_so_when_a_device_is_removed(self):
        key = f'pcap:{self.input},fault=remove@1000'
        ended = l2fwd.outcome(key, f'pcap:,out={self.output}')
        self.assertEqual(
            ended.stderr, f'l2fwd: port {key}: its device is gone; nothing '
            'comes from it any more, what is sent to it is dropped and counted '
            '(port-gone)\n')
        self.checked(ended, status=1)
        self.assertEqual(captures.read_pcap(self.output), self.frames[:999])

    def test_replaces_a_completion_queue_that_overran(self):
        (into, _), frames = self.forward(
            (0, 'rx0 failed (cq_overrun); it is made anew and filled again'),
            receive=',fault=cq_overrun@1000')
        device = into['device_counters']
        lost = device['rx_cq_overrun'] + device['rx_not_ready']
        self.assertEqual(len(frames), _FRAMES - lost)
        self.assertLess(lost, 500)
        self.assertEqual(self.queue(into, 'rx0')['recoveries'], 1)

    def test_survives_every_fault_at_full_speed(self):
        for fault, status in [('send_error@5000+send_error@90000', 0),
                              ('recv_error@5000+recv_error@90000', 0),
                              ('qp_error@1000+qp_error@100000', 0),
                              ('port_down@1000:20ms', 0),
                              ('cq_overrun@50000', 0), ('remove@50000', 1)]:
            with self.subTest(fault=fault):
                self.checked(l2fwd.outcome(f'null:,fault={fault}', 'null:',
                                           '--duration=1'), status)

    def test_has_the_same_faults_again(self):
        faults = ',fault=recv_error@700+qp_error@2000,loss=3%,dup=2%,seed=9'
        runs = [self.forward(*_FAILED_OFTEN, or_else=[_FAILED_OFTEN * 2],
                             receive=faults) for _ in range(2)]
        once, again = (collections.Counter(frames) for _, frames in runs)
        # Only what arrives until a queue pair is ready again is up to time, and
        # whether the second of two equal frames still is part of that.
        waited = [ports[0]['device_counters']['rx_not_ready']
                  for ports, _ in runs]
        self.assertLess(max(waited), 500)
        both = once.keys() & again.keys()
        self.assertGreaterEqual(len(both), 0.95 * _FRAMES - sum(waited))
        self.assertGreater(sum(once[frame] == 2 for frame in both), 20)
        self.assertLessEqual(
            sum(once[frame] != again[frame] for frame in both), 4)

    def test_refuses_unknown_faults(self):
        ended = l2fwd.outcome('null:,fault=explode@3', 'null:')
        self.assertEqual(ended.status, 1)
        self.assertIn('"explode": want send_error, recv_error, qp_error, '
                      'cq_overrun, port_down, port_up, remove or send_stall',
                      ended.stderr)


if __name__ == '__main__':
    script_main.main()
