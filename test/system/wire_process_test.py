#!/usr/bin/env python3
"""Programs that a wire joins, each a process that may end or be killed."""

import os
import signal
import unittest

import l2fwd
import netns
import perftest
import script_main
import table


def _wire(name):
    """A wire that no other test uses."""
    return f'wire:{os.getpid()}-{name}'


def _counters(ended, port):
    return ended.table['ports'][port]['device_counters']


def _first_rates(run):
    """Returns when packets have come: a line of rates after the first."""
    before = run.output().count('\n')
    l2fwd.wait_until(
        lambda: run.output().count('\n') > before + 3 or not run.running(),
        'rates')
    assert run.running(), run.wait()


class WireProcessTest(unittest.TestCase):

    def start(self, *ports):
        """A forwarder, with rates so often that they show what it does."""
        run = self.enterContext(l2fwd.started('--stats=100ms', *ports))
        run.wait_for_output('\n')
        return run

    def assert_ended_well(self, ended):
        self.assertEqual((ended.status, ended.stderr), (0, ''), ended)
        self.assertEqual(table.unbalanced(ended.table), [])

    def assert_all_arrived(self, sent, received):
        """Device counters of an end that ended last, and of those it sent to.

        A frame is received, or counted as lost at the end that sent it.
        """
        self.assertEqual(
            sent['tx_frames'],
            sum(each['rx_frames'] for each in received) + sent['tx_no_peer'] +
            sent['tx_peer_gone'], (sent, received))

    def test_forwards_between_wires_to_other_processes(self):
        left, right = _wire('left'), _wire('right')
        source = self.start('null:', f'{left},end=a')
        middle = self.start(f'{left},end=b', f'{right},end=a')
        sink = self.start(f'{right},end=b', 'null:')
        for run in (source, middle, sink):
            _first_rates(run)
        # Who sends ends after whom it sends to, and has counted what is left.
        ended = {run: run.stop() for run in (sink, middle, source)}
        for each in ended.values():
            self.assert_ended_well(each)
        self.assertGreater(_counters(ended[sink], 0)['rx_frames'], 0)
        self.assert_all_arrived(_counters(ended[middle], 1),
                                [_counters(ended[sink], 0)])
        self.assert_all_arrived(_counters(ended[source], 1),
                                [_counters(ended[middle], 0)])

    def test_counts_add_up_when_a_receiver_restarts(self):
        wire = _wire('restart')
        source = self.start('null:', f'{wire},end=a')
        received = []
        for _ in range(3):
            sink = self.start(f'{wire},end=b', 'null:')
            _first_rates(sink)
            ended = sink.stop()
            self.assert_ended_well(ended)
            received.append(_counters(ended, 0))
            self.assertGreater(received[-1]['rx_frames'], 0)
        ended = source.stop()
        self.assert_ended_well(ended)
        self.assert_all_arrived(_counters(ended, 1), received)

    def test_a_sender_outlives_receivers_that_are_killed(self):
        wire = _wire('receivers')
        source = self.start('null:', f'{wire},end=a')
        for _ in range(3):
            sink = self.start(f'{wire},end=b', 'null:')
            _first_rates(sink)
            sink.signal(signal.SIGKILL)
            self.assertEqual(sink.wait().status, -signal.SIGKILL)
        sink = self.start(f'{wire},end=b', 'null:')
        _first_rates(sink)
        ended = sink.stop()
        self.assert_ended_well(ended)
        self.assertGreater(_counters(ended, 0)['rx_frames'], 0)
        self.assert_ended_well(source.stop())

    def test_a_receiver_outlives_senders_that_are_killed(self):
        wire = _wire('senders')
        sink = self.start(f'{wire},end=b', 'null:')
        for _ in range(3):
            source = self.start('null:', f'{wire},end=a')
            _first_rates(source)
            source.signal(signal.SIGKILL)
            self.assertEqual(source.wait().status, -signal.SIGKILL)
        source = self.start('null:', f'{wire},end=a')
        _first_rates(source)
        ended_sink = sink.stop()
        ended = source.stop()
        self.assert_ended_well(ended_sink)
        self.assert_ended_well(ended)
        sent = _counters(ended, 1)
        self.assertGreaterEqual(
            _counters(ended_sink, 0)['rx_frames'] + sent['tx_no_peer'] +
            sent['tx_peer_gone'], sent['tx_frames'])

    def test_a_hub_carries_to_all_who_listen(self):
        wire = _wire('hub')
        source = self.start('null:', f'{wire},end=a,flow_control=off')
        sinks = [self.start(f'{wire},flow_control=off', 'null:')
                 for _ in range(3)]
        for sink in sinks:
            _first_rates(sink)
        for sink in sinks:
            ended = sink.stop()
            self.assert_ended_well(ended)
            self.assertGreater(_counters(ended, 0)['rx_frames'], 0)
        self.assert_ended_well(source.stop())


class PerftestTest(unittest.TestCase):
    """Server and client in network namespaces that nothing else joins."""

    def run_both(self, program, *arguments):
        netns.require()
        wire = _wire('perftest')
        spaces = [netns.Namespace(), netns.Namespace()]
        for space in spaces:
            self.addCleanup(space.close)
        medium = perftest.Medium((spaces[0], f'{wire},end=a'),
                                 (spaces[1], f'{wire},end=b'))
        server = medium.start_server(program, *arguments)
        self.addCleanup(server.kill)
        client = medium.start_client(program, *arguments)
        self.addCleanup(client.kill)
        self.assertEqual(client.wait(), 0, client.said())
        self.assertEqual(server.wait(), 0, server.said())
        for side in (server, client):
            self.assertRegex(side.said(), r'\n *\d+ +[1-9]\d* +\d')

    def test_bandwidth(self):
        self.run_both('raw_ethernet_bw', '--iters=5000', '--size=1024')

    def test_latency(self):
        self.run_both('raw_ethernet_lat', '--iters=1000', '--size=64')


if __name__ == '__main__':
    netns.enter()
    script_main.main()
