"""Runs l2fwd, or another app, as its users do: arguments in; output, status and
JSON out."""

import contextlib
import dataclasses
import json
import os
import signal
import subprocess
import tempfile
import time

# Where Bazel puts it, seen from the top of a test's files.
PATH = os.path.abspath('apps/l2fwd/l2fwd')

# Far more than anything takes, also under sanitizers on a busy machine: what
# has not happened by then will not.
PATIENCE_SECONDS = 60


@dataclasses.dataclass
class Outcome:
    """How a run ended."""
    status: int
    stdout: str
    stderr: str
    # What --json wrote, None if it did not come to that.
    table: dict


def _without(capabilities):
    """The command that takes them away; only root has some."""
    if not capabilities or os.geteuid() != 0:
        return []
    return ['setpriv', '--bounding-set',
            ','.join('-' + name for name in capabilities)]


def is_sanitized():
    """Whether it is built with a sanitizer, which slows everything down."""
    linked = subprocess.run(['ldd', PATH], stdout=subprocess.PIPE, text=True,
                            check=True).stdout
    return 'libasan' in linked or 'libtsan' in linked


class Run:
    """An app that runs."""

    def __init__(self, arguments, folder, preexec=None, without=(),
                 program=PATH):
        self._folder = folder
        self._json = os.path.join(folder, 'table.json')
        self._stdout = open(os.path.join(folder, 'stdout'), 'w+',
                            encoding='utf-8')
        self._stderr = open(os.path.join(folder, 'stderr'), 'w+',
                            encoding='utf-8')
        self._process = subprocess.Popen(
            [*_without(without), program, f'--json={self._json}', *arguments],
            stdin=subprocess.DEVNULL, stdout=self._stdout, stderr=self._stderr,
            preexec_fn=preexec)

    def _text(self, file):
        file.seek(0)
        return file.read()

    def has_table(self):
        """Whether the file of --json is there, be it empty."""
        return os.path.exists(self._json)

    @property
    def pid(self):
        return self._process.pid

    def running(self):
        return self._process.poll() is None

    def output(self):
        """What it has printed so far."""
        return self._text(self._stdout)

    def errors(self):
        """What it has printed to stderr so far."""
        return self._text(self._stderr)

    def wait_for_output(self, text):
        """Returns once it has printed `text`."""
        wait_until(lambda: text in self.output() or not self.running(),
                   f'output {text!r}')
        if text not in self.output():
            raise AssertionError(f'ended early: {self.wait()}')

    def signal(self, number):
        self._process.send_signal(number)

    def wait(self):
        """Its outcome, once it has ended by itself."""
        self._process.wait(PATIENCE_SECONDS)
        written = ''
        if os.path.exists(self._json):
            with open(self._json, encoding='utf-8') as file:
                written = file.read()
        return Outcome(self._process.returncode, self._text(self._stdout),
                       self._text(self._stderr),
                       json.loads(written) if written else None)

    def stop(self):
        """Its outcome after SIGTERM."""
        if self.running():
            self.signal(signal.SIGTERM)
        return self.wait()

    def close(self):
        """Ends it without asking, if it still runs."""
        if self.running():
            self._process.kill()
            self._process.wait()
        self._stdout.close()
        self._stderr.close()


@contextlib.contextmanager
def started(*arguments, **kwargs):
    """A running l2fwd, or `program`, that ends with the block at the latest.

    `preexec` is called before it starts; it runs without the capabilities
    `without`, also where the test runs as root.
    """
    with tempfile.TemporaryDirectory(dir=os.environ.get('TEST_TMPDIR')) as folder:
        run = Run(arguments, folder, **kwargs)
        try:
            yield run
        finally:
            run.close()


def outcome(*arguments, **kwargs):
    """Runs it to its own end."""
    with started(*arguments, **kwargs) as run:
        return run.wait()


def wait_until(condition, what):
    """Returns once `condition()` holds."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f'waited in vain for {what}')
        time.sleep(0.01)
