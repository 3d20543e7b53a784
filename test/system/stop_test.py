#!/usr/bin/env python3
"""l2fwd ends in the middle of a flood: what the device had delivered by then was
received, whatever queue it was in."""

import contextlib
import os
import re
import signal
import tempfile
import unittest

import captures
import flows
import l2fwd
import netns
import script_main
import table

# Of a line of rates: some packets were received.
RECEIVED = re.compile(r' [1-9][\d,]* +[\d,.]+ +[\d,]+ +[\d,.]+ +\d+\n')

# How l2fwd may be laid out over lcores.
LAYOUTS = (('--queues=1',), ('--queues=2',), ('--queues=4',), ('--workers=1',),
           ('--workers=3', '--ring=16'))
FEW_LAYOUTS = LAYOUTS[::2]


class StopTest(unittest.TestCase):

    def assert_exact(self, ended):
        """Each port: delivered by the device = received by pipelines."""
        said = [line for line in ended.stderr.splitlines()
                if 'pipelines take turns' not in line]
        self.assertEqual((ended.status, said), (0, []), ended)
        self.assertEqual(table.unbalanced(ended.table), [])
        into = ended.table['ports'][0]
        received = [queue['packets'] for queue in into['queues']
                    if queue['name'].startswith('rx')]
        by_pipelines = sum(
            pipeline['received'] for lcore in ended.table['lcores']
            for pipeline in lcore['pipelines']
            if not pipeline['from_ring'] and
            pipeline['from'].split(' rx')[0] == into['name'])
        delivered = into['device_counters']['rx_delivered']
        self.assertEqual(sum(received), delivered)
        self.assertEqual(by_pipelines, delivered)
        self.assertGreater(delivered, 0)

    def stop_in_full_flight(self, into, out='null:', layouts=LAYOUTS):
        for layout in layouts:
            with self.subTest(into=into, layout=layout):
                for _ in range(3):
                    with l2fwd.started('--stats=100ms', into, out,
                                       *layout) as run:
                        l2fwd.wait_until(
                            lambda: RECEIVED.search(run.output()) or
                            not run.running(), 'frames')
                        self.assert_exact(run.stop())

    @contextlib.contextmanager
    def flood(self, out):
        """Frames of many flows come to `out` as fast as they can."""
        with l2fwd.started('--stats=100ms', 'null:,flows=64', out) as source:
            source.wait_for_output('\n')
            yield
            self.assertTrue(source.running(), source.errors())

    def test_accounts_for_frames_that_are_made(self):
        self.stop_in_full_flight('null:,flows=64')

    def test_accounts_for_frames_of_a_capture(self):
        folder = tempfile.TemporaryDirectory(dir=os.environ.get('TEST_TMPDIR'))
        self.addCleanup(folder.cleanup)
        path = os.path.join(folder.name, 'in.pcap')
        captures.write_pcap(path, flows.many_flows())
        self.stop_in_full_flight(f'pcap:{path},loop=on')

    def test_accounts_for_frames_on_a_wire(self):
        for flow_control in ('on', 'off'):
            wire = f'wire:{os.getpid()}-{flow_control}'
            with self.flood(f'{wire},end=a'):
                self.stop_in_full_flight(
                    f'{wire},end=b,flow_control={flow_control}',
                    layouts=FEW_LAYOUTS)

    def test_accounts_for_frames_of_netdevs(self):
        netns.require()
        netns.run('ip', 'link', 'add', 'one', 'type', 'veth', 'peer', 'name',
                  'two')
        self.addCleanup(netns.run, 'ip', 'link', 'delete', 'one')
        for netdev in ('one', 'two'):
            netns.run('ip', 'link', 'set', netdev, 'up')
        with self.flood('packet:one'):
            for kind in ('packet', 'xdp'):
                self.stop_in_full_flight(f'{kind}:two',
                                         layouts=FEW_LAYOUTS)

    def test_gives_up_by_name_what_nobody_takes(self):
        """The other end of the way out takes nothing: what was received at
        last is dropped when the time to drain is over."""
        wire = f'wire:{os.getpid()}-stuck'
        # Receives once, then stands still.
        with l2fwd.started('--stats=100ms', f'{wire},end=b', 'null:') as peer:
            peer.wait_for_output('\n')
            peer.signal(signal.SIGSTOP)
            with l2fwd.started('--stats=100ms', 'null:,flows=64',
                               f'{wire},end=a', '--queues=2') as run:
                run.wait_for_output('\n')
                ended = run.stop()
            peer.signal(signal.SIGCONT)
        self.assert_exact(ended)


if __name__ == '__main__':
    netns.enter()
    script_main.main()
