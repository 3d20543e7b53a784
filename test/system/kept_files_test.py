#!/usr/bin/env python3
"""Files that a run is not to write: those of a plan, its own inputs, and that of
--json until the run is over."""

import os
import subprocess
import tempfile
import unittest

import captures
import l2fwd
import mcast
import script_main

_INSPECT = os.path.abspath('apps/inspect/inspect')
_RECV = [f'--group={mcast.GROUP}', f'--udp_port={mcast.PORT}',
         '--ip=192.0.2.1', '--duration=200ms']
_OLD = b'what was there before'


def _run(program, *arguments, **kwargs):
    return subprocess.run([program, *arguments], text=True, check=False,
                          capture_output=True, **kwargs)


class KeptFilesTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.capture = self.path('in.pcap')
        captures.write_pcap(self.capture, captures.version6())
        self.old = self.path('old')
        with open(self.old, 'wb') as file:
            file.write(_OLD)
        self.missing = self.path('missing')

    def path(self, name):
        return os.path.join(self.folder, name)

    def content(self, path):
        with open(path, 'rb') as file:
            return file.read()

    def assert_plans(self, program, *arguments):
        """It plans, and leaves the old file and the missing one as they are."""
        done = _run(program, *arguments, '--plan')
        self.assertEqual((done.returncode, done.stderr), (0, ''), arguments)
        self.assertIn('->', done.stdout)
        self.assertEqual(self.content(self.old), _OLD, arguments)
        self.assertFalse(os.path.exists(self.missing), arguments)
        return done.stdout

    def assert_refused(self, program, *arguments, says, **kwargs):
        """It says one line, and leaves the capture as it is."""
        before = self.content(self.capture)
        done = _run(program, *arguments, **kwargs)
        self.assertEqual(done.returncode, 1, done)
        self.assertRegex(done.stderr, r'\A[^\n]+; name another file\n\Z')
        self.assertIn(says, done.stderr)
        self.assertEqual(self.content(self.capture), before, arguments)

    def recv(self, *arguments, **kwargs):
        self.assert_refused(mcast.PROGRAM, 'recv', *_RECV, *arguments, **kwargs)

    def test_a_plan_leaves_the_captures_of_ports_alone(self):
        for path in (self.old, self.missing):
            port = f'pcap:,out={path}'
            self.assertIn(f'null: -> {port}',
                          self.assert_plans(l2fwd.PATH, 'null:', port))

    def test_a_plan_says_what_the_run_says(self):
        ports = ['null:', f'pcap:,out={self.old}', '--lcores=0']
        planned = self.assert_plans(l2fwd.PATH, *ports)
        run = _run(l2fwd.PATH, *ports, '--duration=1ms')
        self.assertTrue(run.stdout.startswith(planned), (planned, run.stdout))

    def test_a_plan_leaves_the_places_of_delivery_alone(self):
        for path in (self.old, self.missing):
            for kind in ('file', 'pcap'):
                planned = self.assert_plans(mcast.PROGRAM, 'recv', 'null:',
                                            *_RECV, f'--to={kind}:{path}')
                self.assertIn('delivery', planned)

    def test_an_input_is_no_place_of_delivery(self):
        link = self.path('link')
        os.link(self.capture, link)
        for path in (self.capture, link):
            for kind in ('file', 'pcap'):
                self.recv(f'pcap:{self.capture}', f'--to={kind}:{path}',
                          says=f'mcast: --to: {path}: port pcap:{self.capture} '
                          'reads this file')

    def test_an_output_is_no_place_of_delivery(self):
        self.recv(f'pcap:,out={self.missing}', f'--to=file:{self.missing}',
                  says=f'--to: {self.missing}: port pcap:,out={self.missing} '
                  'writes this file')

    def test_a_file_to_send_is_no_output(self):
        arguments = ['send', f'pcap:,out={self.capture}', '--ip=192.0.2.1',
                     f'--group={mcast.GROUP}', f'--udp_port={mcast.PORT}']
        self.assert_refused(
            mcast.PROGRAM, *arguments, f'--file={self.capture}',
            says=f'--file: {self.capture}: port pcap:,out={self.capture} writes')
        with open(self.capture, 'rb') as file:
            self.assert_refused(mcast.PROGRAM, *arguments, '--stdin',
                                stdin=file, says='--stdin: /dev/stdin: port ')

    def test_the_input_of_a_port_is_no_output_of_another(self):
        output = f'pcap:,out={self.capture}'
        for plan in ([], ['--plan']):
            self.assert_refused(
                l2fwd.PATH, output, f'pcap:{self.capture}', *plan,
                says=f'l2fwd: {output}: {self.capture}: is the output here and '
                f'the input of port pcap:{self.capture}')
            self.assert_refused(
                l2fwd.PATH, 'null:', f'pcap:{self.capture},out={self.capture}',
                *plan, says='is the input and the output')

    def test_the_file_of_json_is_none_of_a_port(self):
        self.assert_refused(
            _INSPECT, f'pcap:{self.capture}', f'--json={self.capture}',
            says=f'--json: {self.capture}: port pcap:{self.capture} reads')
        self.assert_refused(
            l2fwd.PATH, 'null:', f'pcap:,out={self.missing}',
            f'--json={self.missing}', says='writes this file')
        self.recv('null:', f'--to=pcap:{self.missing}',
                  f'--json={self.missing}',
                  says=f'--to: {self.missing}: --json writes this file')
        self.assertFalse(os.path.exists(self.missing))

    def test_a_failed_start_leaves_the_file_of_json_alone(self):
        for path in (self.old, self.missing):
            done = _run(l2fwd.PATH, 'null:', 'nul:', f'--json={path}')
            self.assertEqual(done.returncode, 1)
            self.assertIn('nul:', done.stderr)
        self.assertEqual(self.content(self.old), _OLD)
        self.assertFalse(os.path.exists(self.missing))

    def test_json_takes_the_place_of_what_was_there(self):
        with open(self.old, 'wb') as file:
            file.write(b'x' * 100_000)
        done = _run(l2fwd.PATH, 'null:', 'null:', '--duration=1ms',
                    f'--json={self.old}')
        self.assertEqual(done.returncode, 0, done)
        self.assertNotIn(b'x' * 100, self.content(self.old))


if __name__ == '__main__':
    script_main.main()
