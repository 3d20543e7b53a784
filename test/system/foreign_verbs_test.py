#!/usr/bin/env python3
"""Verbs programs that know nothing of weir run on libweir_hca.so."""

import os
import re
import subprocess
import sys
import unittest

import netns
import preload
import script_main


class DeviceListTest(unittest.TestCase):

    def list_devices(self, devices=None):
        done = subprocess.run(['ibv_devinfo', '-v'], env=preload.environment(devices),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, check=False)
        self.assertEqual(done.returncode, 0, done)
        return done.stdout

    def test_lists_the_devices_of_the_environment(self):
        output = self.list_devices(
            f'soft0=null:;wire:{os.getpid()}-joint,end=a')
        self.assertEqual(re.findall(r'hca_id:\s*(\S+)', output),
                         ['soft0', 'weir1'])
        self.assertEqual(output.count('PORT_ACTIVE'), 2)
        self.assertEqual(re.findall(r'link_layer:\s*(\S+)', output),
                         ['Ethernet', 'Ethernet'])

    def test_no_two_devices_have_one_name(self):
        output = self.list_devices('null:;null:;weir1=null:;a=null:;a=null:')
        self.assertEqual(re.findall(r'hca_id:\s*(\S+)', output),
                         ['weir0', 'weir2', 'weir1', 'a', 'weir4'])

    def test_lists_the_netdevs_that_are_up(self):
        netns.require()
        netns.run('ip', 'link', 'add', 'seen', 'type', 'veth', 'peer', 'name',
                  'unseen')
        self.addCleanup(netns.run, 'ip', 'link', 'delete', 'seen')
        netns.run('ip', 'link', 'set', 'seen', 'up')
        found = re.findall(r'hca_id:\s*(\S+)', self.list_devices())
        self.assertIn('weir_null0', found)
        self.assertIn('weir_seen', found)
        self.assertNotIn('weir_unseen', found)

    def test_stays_when_a_program_unloads_it(self):
        program = f'''
import _ctypes, ctypes
context = None
for _ in range(3):
    library = ctypes.CDLL({preload.LIBRARY!r})
    for name in 'get_device_list', 'open_device', 'alloc_pd':
        getattr(library, f'ibv_{{name}}').restype = ctypes.c_void_p
    if context is None:
        devices = library.ibv_get_device_list(None)
        device = ctypes.c_void_p.from_address(devices)
        context = library.ibv_open_device(device)
    assert library.ibv_alloc_pd(ctypes.c_void_p(context))
    _ctypes.dlclose(library._handle)
'''
        environment = preload.environment('soft0=null:')
        del environment['LD_PRELOAD']
        runtime = preload.sanitizer_runtime()
        if runtime:
            environment['LD_PRELOAD'] = runtime
        done = subprocess.run([sys.executable, '-c', program], env=environment,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)


if __name__ == '__main__':
    netns.enter()
    script_main.main()
