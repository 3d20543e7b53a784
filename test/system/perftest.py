"""Runs perftest's raw_ethernet programs, a server and a client, over a medium."""

import os
import subprocess
import tempfile

import l2fwd
import netns
import preload

SERVER_MAC, CLIENT_MAC = '02:00:00:00:01:01', '02:00:00:00:01:02'

# Both sides are told the addresses of a frame from client to server.
IPV4 = ['--source_ip=192.0.2.2', '--dest_ip=192.0.2.1']
IPV6 = ['--raw_ipv6', '--source_ip=2001:db8::2', '--dest_ip=2001:db8::1']
PORTS = ['--source_port=4001', '--dest_port=4002']


def _environment(device):
    """Where a program sees `device`.

    Its SIGALRM handler reads /proc/cpuinfo, which TSan would report of it.
    """
    result = preload.environment(f'soft0={device}')
    tsan = result.get('TSAN_OPTIONS', '') + ':report_signal_unsafe=0'
    return dict(result, TSAN_OPTIONS=tsan.strip(':'))


class Side:
    """A program that runs on a device of a namespace, None for the test's."""

    def __init__(self, namespace, device, command):
        self._output = tempfile.TemporaryFile('w+', encoding='utf-8')
        # Its lines are wanted while it runs.
        command = ['stdbuf', '-oL', *command]
        if namespace:
            command = namespace.command(*command)
        self._process = subprocess.Popen(
            command, env=_environment(device), stdin=subprocess.DEVNULL,
            stdout=self._output, stderr=subprocess.STDOUT)

    def said(self):
        """What it has printed so far."""
        self._output.seek(0)
        return self._output.read()

    def ended(self):
        return self._process.poll() is not None

    def wait(self):
        """Its exit status; an error if it does not end."""
        try:
            return self._process.wait(timeout=l2fwd.PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            raise AssertionError(f'does not end: {self.said()}') from None

    def kill(self):
        self._process.kill()
        self._process.wait()
        self._output.close()


class Medium:
    """Where a server and a client meet: a device and a namespace for each."""

    def __init__(self, server, client):
        self.server = server
        self.client = client

    def start_alone(self, program, *arguments):
        """Starts a server that waits for nobody."""
        return Side(*self.server, [
            program, '--ib-dev=soft0', *arguments, '--server',
            f'--source_mac={SERVER_MAC}', f'--dest_mac={CLIENT_MAC}'])

    def start_server(self, program, *arguments):
        """Returns the server once it waits for frames.

        It prints the head of its table when its flow rules are there; from then
        on frames wait in the medium until it polls.
        """
        side = self.start_alone(program, *arguments)

        def waits():
            if side.ended():
                raise AssertionError(f'the server ended: {side.said()}')
            return '#bytes' in side.said()
        try:
            l2fwd.wait_until(waits, 'the server')
        except BaseException:
            side.kill()
            raise
        return side

    def start_client(self, program, *arguments):
        return Side(*self.client, [
            program, '--ib-dev=soft0', *arguments, '--client',
            f'--source_mac={CLIENT_MAC}', f'--dest_mac={SERVER_MAC}'])


class VethMedium(Medium):
    """Two namespaces that a veth pair joins, each with a device of `kind`."""

    def __init__(self, kind, cleanup):
        one, two = netns.Namespace(), netns.Namespace()
        cleanup(one.close)
        cleanup(two.close)
        netns.run('ip', 'link', 'add', 'veth1', 'address', SERVER_MAC, 'type',
                  'veth', 'peer', 'name', 'veth2', 'address', CLIENT_MAC)
        for namespace, netdev in [(one, 'veth1'), (two, 'veth2')]:
            namespace.adopt(netdev)
            # Without an address of IPv6 the kernel sends nothing by itself.
            namespace.run('ip', 'link', 'set', netdev, 'addrgenmode', 'none')
            namespace.run('ip', 'link', 'set', netdev, 'up')
        l2fwd.wait_until(
            lambda: 'LOWER_UP' in one.run('ip', 'link', 'show', 'veth1'),
            'the link')
        super().__init__((one, f'{kind}:veth1'), (two, f'{kind}:veth2'))


class WireMedium(Medium):
    """Two ends of a wire that no other test has."""

    def __init__(self, flow_control):
        key = f'wire:perftest_{os.getpid()},flow_control={flow_control}'
        super().__init__((None, f'{key},end=a'), (None, f'{key},end=b'))
