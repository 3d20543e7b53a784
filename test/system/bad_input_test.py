#!/usr/bin/env python3
"""What l2fwd says when it cannot: one line, status 1, never a crash."""

import os
import re
import resource
import struct
import subprocess
import tempfile
import unittest

import captures
import l2fwd
import netns
import script_main
import table


class BadInputTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name, content=None):
        """The path of a file, made if there is content."""
        path = os.path.join(self.folder, name)
        if content is not None:
            with open(path, 'wb') as file:
                file.write(content)
        return path

    def add_netdev(self, name):
        """A netdev in the test's own namespace."""
        netns.require()
        netns.run('ip', 'link', 'add', name, 'type', 'veth')
        netns.run('ip', 'link', 'set', name, 'up')
        self.addCleanup(netns.run, 'ip', 'link', 'delete', name)

    def assert_refused(self, arguments, *words, **kwargs):
        """It says one line that has all `words`, and ends with status 1."""
        ended = l2fwd.outcome(*arguments, **kwargs)
        self.assertEqual(ended.status, 1, ended)
        self.assertRegex(ended.stderr, r'\Al2fwd: [^\n]+\n\Z')
        for word in words:
            self.assertIn(word, ended.stderr)

    def test_names_the_kinds_there_are(self):
        self.assert_refused(['nul:', 'null:'], 'nul', 'null', 'wire', 'pcap',
                            'packet')

    def test_names_the_keys_there_are(self):
        self.assert_refused(['null:,speed=9', 'null:'], 'speed', 'size')

    def test_refuses_a_value_that_is_no_number(self):
        self.assert_refused(['null:,size=big', 'null:'], 'size', 'big')

    def test_refuses_a_port_that_does_not_exist(self):
        self.assert_refused(['mlx5_7', 'null:'], 'mlx5_7')
        self.assert_refused(['packet:nosuchdev', 'null:'], 'nosuchdev')

    def test_refuses_a_missing_file(self):
        missing = self.path('missing.pcap')
        self.assert_refused([f'pcap:{missing}', 'null:'], missing,
                            'No such file')

    def test_refuses_a_file_that_is_no_capture(self):
        text = self.path('text.pcap', b'this is no capture, it is text\n' * 9)
        self.assert_refused([f'pcap:{text}', 'null:'], text)
        empty = self.path('empty.pcap', b'')
        self.assert_refused([f'pcap:{empty}', 'null:'], empty)

    def test_refuses_a_capture_of_another_link_type(self):
        header = struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 65535, 127)
        path = self.path('wifi.pcap', header)
        self.assert_refused([f'pcap:{path}', 'null:'], path, '127')

    def test_refuses_an_output_that_it_cannot_write(self):
        path = self.path('no/such/folder.pcap')
        self.assert_refused(['null:', f'pcap:,out={path}'], path)

    def test_forwards_what_stands_before_the_cut(self):
        frames = captures.all_sizes()
        whole = self.path('whole.pcap')
        captures.write_pcap(whole, frames)
        with open(whole, 'rb') as file:
            cut = self.path('cut.pcap', file.read()[:-100])
        output = self.path('out.pcap')
        ended = l2fwd.outcome(f'pcap:{cut}', f'pcap:,out={output}')
        self.assertRegex(ended.stderr, r'\Al2fwd: warning: [^\n]+\n\Z')
        self.assertIn(cut, ended.stderr)
        self.assertEqual(ended.status, 1, ended)
        self.assertEqual(captures.read_pcap(output), frames[:-1])
        self.assertEqual(table.unbalanced(ended.table), [])

    def test_refuses_a_netdev_given_twice(self):
        self.add_netdev('port0')
        self.assert_refused(['packet:port0', 'packet:port0'], 'packet:port0',
                            'given twice')
        self.assert_refused(['port0', 'packet:port0'], 'packet:port0',
                            'given twice')

    def test_refuses_an_output_given_twice(self):
        output = self.path('out.pcap')
        port = f'pcap:,out={output}'
        self.assert_refused([port, port], output, 'given twice')

    def test_wants_two_ports(self):
        self.assert_refused([], '2 ports', 'got 0')
        self.assert_refused(['null:'], '2 ports', 'got 1')
        self.assert_refused(['null:', 'null:', 'null:'], '2 ports', 'got 3')

    def test_refuses_lcores_that_do_not_exist(self):
        self.assert_refused(['--lcores=4000', 'null:', 'null:'], '4000')

    def test_refuses_lcores_that_are_no_list(self):
        self.assert_refused(['--lcores=many', 'null:', 'null:'], 'many')

    def test_refuses_a_table_that_it_cannot_write(self):
        path = self.path('no/such/table.json')
        self.assert_refused([f'--json={path}', '--duration=1ms', 'null:',
                             'null:'], path)

    def test_says_why_a_table_could_not_be_written(self):
        ended = l2fwd.outcome('--duration=100ms', '--json=/dev/full', 'null:',
                              'null:')
        self.assertEqual(
            (ended.status, ended.stderr),
            (1, 'l2fwd: --json: /dev/full: could not be written in full: No '
             'space left on device\n'))

    def test_names_the_limit_on_locked_memory(self):
        def limited_to(size):
            return {'preexec': lambda: resource.setrlimit(
                resource.RLIMIT_MEMLOCK, (size, size)), 'without': ['ipc_lock']}
        arguments = ['null:,mtu=1400', 'null:', '--duration=1ms']
        self.assert_refused(arguments, 'l2fwd: null:,mtu=1400: cannot register ',
                            'RLIMIT_MEMLOCK is 65536 bytes', 'CAP_IPC_LOCK',
                            **limited_to(65536))
        # As much as it says is enough, and less is not.
        refused = l2fwd.outcome(*arguments, **limited_to(65536))
        enough = 1024 * int(re.search(r'`ulimit -l (\d+)`',
                                      refused.stderr).group(1))
        self.assertEqual(l2fwd.outcome(*arguments, **limited_to(enough)).status,
                         0)
        self.assert_refused(arguments, f'RLIMIT_MEMLOCK is {enough - 4096} bytes',
                            **limited_to(enough - 4096))

    def test_names_the_capability_that_raw_sockets_need(self):
        self.add_netdev('port0')
        self.assert_refused(['packet:port0', 'null:'], 'packet:port0',
                            'CAP_NET_RAW', without=['net_raw'])

    def test_names_all_rights_that_xdp_needs_at_once(self):
        self.add_netdev('port0')
        rights = ['net_raw', 'net_admin', 'bpf', 'perfmon']
        names = ['CAP_' + right.upper() for right in rights + ['ipc_lock']]
        for missing in [['net_raw'], ['net_admin'], ['bpf'], rights]:
            # Who has CAP_SYS_ADMIN needs some others not.
            self.assert_refused(['xdp:port0', 'null:'], 'l2fwd: xdp:port0: ',
                                *names, without=[*missing, 'sys_admin'])
        # These are enough.
        own = ['-all'] + [f'+{right}' for right in rights + ['ipc_lock']]
        done = subprocess.run(
            ['setpriv', '--bounding-set=' + ','.join(own), l2fwd.PATH,
             'xdp:port0', 'null:', '--duration=1ms'], text=True, check=False,
            stdin=subprocess.DEVNULL, capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_names_the_right_that_large_xdp_programs_need(self):
        """Where CPUs speculate the kernel looks at more, and finds it too much."""
        with open('/proc/cmdline', encoding='ascii') as file:
            if 'mitigations=off' in file.read():
                self.skipTest('mitigations=off')
        self.add_netdev('port0')
        self.assert_refused(['xdp:port0', 'null:'], 'l2fwd: xdp:port0: ',
                            'CAP_PERFMON', without=['perfmon', 'sys_admin'])

    def test_names_how_much_memory_xdp_locks(self):
        self.add_netdev('port0')
        def lower():
            resource.setrlimit(resource.RLIMIT_MEMLOCK, (4 << 20, 4 << 20))
        self.assert_refused(
            ['xdp:port0', 'null:'], 'l2fwd: xdp:port0: ',
            '8192 KiB', 'ulimit -l', 'CAP_IPC_LOCK', preexec=lower,
            without=['ipc_lock'])

    def test_refuses_a_file_that_it_may_not_read(self):
        secret = self.path('secret.pcap', b'')
        os.chmod(secret, 0)
        self.assert_refused(
            [f'pcap:{secret}', 'null:'], secret, 'Permission denied',
            without=['dac_override', 'dac_read_search'])


if __name__ == '__main__':
    netns.enter()
    script_main.main()
