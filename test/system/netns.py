"""Network namespaces that end with the test, whatever happens to it.

The test runs in a namespace of its own; more are held by processes that end
when the test does. Nothing gets a name in the system, so nothing is left over
and tests do not meet. Without root, all of it happens in a user namespace.
"""

import os
import subprocess
import sys
import unittest

_ENTERED = 'WEIR_TEST_NETNS'

# /sys shows the netdevs of the namespace that mounted it.
_SHOW_OWN_NETDEVS = 'mount -t sysfs sysfs /sys'


def _can(command):
    return subprocess.run([*command, 'true'], stdin=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, check=False).returncode == 0


def enter():
    """Moves the running script to namespaces of its own, where it may.

    To be called first: the script starts anew. Where it may not, the cases that
    call require() are skipped.
    """
    if _ENTERED in os.environ:
        return
    command = ['unshare', '--net', '--mount', '--kill-child']
    if os.geteuid() != 0:
        command += ['--user', '--map-root-user']
    allowed = _can(command)
    os.environ[_ENTERED] = 'yes' if allowed else 'no'
    if allowed:
        os.execvp(command[0], [
            *command, '--', 'sh', '-c', f'{_SHOW_OWN_NETDEVS}; exec "$0" "$@"',
            sys.executable, *sys.argv])


def require():
    """Skips the calling case where namespaces are not allowed."""
    if os.environ.get(_ENTERED) != 'yes':
        who = 'root here' if os.geteuid() == 0 else 'this user'
        raise unittest.SkipTest(
            f'{who} may not make network namespaces (unshare --net fails)')


def run(*command):
    """Runs a command in the test's own namespace; it has to succeed."""
    subprocess.run(command, check=True)


class Namespace:
    """Another network namespace, with its own /sys."""

    def __init__(self):
        self._holder = subprocess.Popen(
            ['unshare', '--net', '--mount', 'sh', '-c',
             f'{_SHOW_OWN_NETDEVS}; echo ready; exec cat'],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._holder.stdout.readline() == 'ready\n'
        self.run('ip', 'link', 'set', 'lo', 'up')

    @property
    def pid(self):
        """A process inside."""
        return self._holder.pid

    def command(self, *command):
        """`command` as it has to be called from outside."""
        return ['nsenter', f'--target={self._holder.pid}', '--net', '--mount',
                f'--wd={os.getcwd()}', '--', *command]

    def popen(self, *command, **kwargs):
        """Starts a command inside."""
        return subprocess.Popen(self.command(*command), text=True,
                                stdin=subprocess.DEVNULL, **kwargs)

    def run(self, *command, **kwargs):
        """Runs a command inside to its end, which has to be a success."""
        done = subprocess.run(
            self.command(*command), text=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
            **kwargs)
        if done.returncode != 0:
            raise AssertionError(
                f'{" ".join(command)}: {done.returncode}: {done.stdout}')
        return done.stdout

    def adopt(self, netdev):
        """Moves a netdev of the test's own namespace here."""
        run('ip', 'link', 'set', netdev, 'netns', str(self._holder.pid))

    def close(self):
        self._holder.stdin.close()
        self._holder.stdout.close()
        self._holder.wait()


class _Here:
    """The test's own namespace, where others are asked for."""

    @staticmethod
    def popen(*command, **kwargs):
        return subprocess.Popen(command, text=True, stdin=subprocess.DEVNULL,
                                **kwargs)


HERE = _Here()


def link(inside, outside, namespace, mtu=1500):
    """A pair of joined netdevs: `outside` here, `inside` in `namespace`."""
    run('ip', 'link', 'add', outside, 'mtu', str(mtu), 'type', 'veth', 'peer',
        'name', inside, 'mtu', str(mtu))
    namespace.adopt(inside)
    run('ip', 'link', 'set', outside, 'up')
    namespace.run('ip', 'link', 'set', inside, 'up')
