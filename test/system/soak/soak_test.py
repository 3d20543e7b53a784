#!/usr/bin/env python3
"""Numbered packets of many flows through l2fwd and back, in one pipeline a
direction and through rings to workers: each flow in order, nothing lost,
nothing left over.

    soak_test.py [--packets=N] [--workers=N,...] [SoakTest.test_wire]

N packets (50,000) for each number of workers (0, 1, 2, 4, 8; 0: run to
completion) over wire and a tenth of them over xdp. A long one:

    bazel test -c opt --test_timeout=3600 --test_output=streamed \\
        --test_arg=--packets=100000000 --test_arg=SoakTest.test_wire \\
        //test/system/soak:soak_test
"""

import argparse
import json
import os
import subprocess
import sys
import unittest

import l2fwd
import netns
import script_main
import table

PEER = os.path.abspath('test/system/soak/soak_peer')
# Without back-pressure in the kernel, no more are on their way than rings of
# AF_XDP hold.
XDP_WINDOW = 512

options = argparse.Namespace(packets=50_000, workers=[0, 1, 2, 4, 8])


class SoakTest(unittest.TestCase):

    def soak(self, ports, peer_ports, workers, packets, window=0):
        """Sends through l2fwd and checks every count there is."""
        with l2fwd.started('--stats=0', *ports, f'--workers={workers}') as run:
            peer = subprocess.run(
                [PEER, f'--out={peer_ports[0]}', f'--in={peer_ports[1]}',
                 f'--packets={packets}', f'--window={window}'],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, text=True, check=False)
            self.assertEqual((peer.returncode, peer.stderr), (0, ''))
            ended = run.stop()
        came = json.loads(peer.stdout)
        print(f'{ports[0]} workers={workers}: {came}', flush=True)
        said = [line for line in ended.stderr.splitlines()
                if 'pipelines take turns' not in line]
        self.assertEqual((ended.status, said), (0, []))
        self.assertEqual(table.unbalanced(ended.table), [])
        self.assertEqual((came['sent'], came['received'], came['missing'],
                          came['late'], came['foreign']),
                         (packets, packets, 0, 0, 0))
        # Probes before the way was open are the devices' drops.
        self.assertGreater(came['probes'], 0)
        self.assertEqual(ended.table['packets']['dropped'], 0)
        self.assertEqual(ended.table['packets']['sent'],
                         packets + came['probes'])
        self.assertEqual(ended.table['packets']['received'],
                         packets + came['probes'])
        into = ended.table['ports'][0]
        self.assertEqual(into['device_counters']['rx_delivered'],
                         packets + came['probes'])
        self.assertEqual((ended.table['mbufs']['rings'],
                          ended.table['mbufs']['held']), (0, 0))
        if workers > 1:
            received = [pipeline['received'] for lcore in ended.table['lcores']
                        for pipeline in lcore['pipelines']
                        if f'{ports[0]} worker' in pipeline['from']]
            self.assertEqual(len(received), workers)
            self.assertEqual(sum(received), packets + came['probes'])
            self.assertGreater(sorted(received)[1], 0)

    def test_wire(self):
        for workers in options.workers:
            with self.subTest(workers=workers):
                near, far = (f'wire:{os.getpid()}-{name}{workers}'
                             for name in 'nf')
                self.soak((f'{near},end=a', f'{far},end=a'),
                          (f'{near},end=b', f'{far},end=b'), workers,
                          options.packets)

    def test_xdp(self):
        netns.require()
        for side in ('near', 'far'):
            netns.run('ip', 'link', 'add', side, 'type', 'veth', 'peer',
                      'name', f'{side}peer')
            self.addCleanup(netns.run, 'ip', 'link', 'delete', side)
            for netdev in (side, f'{side}peer'):
                # Without an address the kernel itself has nothing to say.
                netns.run('ip', 'link', 'set', netdev, 'addrgenmode', 'none')
                netns.run('ip', 'link', 'set', netdev, 'up')
        for workers in options.workers:
            with self.subTest(workers=workers):
                self.soak(('xdp:near', 'xdp:far'),
                          ('xdp:nearpeer', 'xdp:farpeer'), workers,
                          options.packets // 10, XDP_WINDOW)


def read_options():
    """Takes the flags of this script off the command line."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument('--packets', type=int, default=options.packets)
    parser.add_argument(
        '--workers', default=options.workers,
        type=lambda text: [int(number) for number in text.split(',')])
    _, rest = parser.parse_known_args(namespace=options)
    sys.argv[1:] = rest


if __name__ == '__main__':
    # The script starts anew in its namespace, with its flags.
    netns.enter()
    read_options()
    script_main.main()
