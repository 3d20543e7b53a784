"""How a program that knows nothing of weir gets the soft devices."""

import os
import re
import subprocess

LIBRARY = os.path.abspath('lib/weir/hca/abi/libweir_hca.so')


def sanitizer_runtime():
    """The sanitizer that the library is built with, empty without."""
    linked = subprocess.run(['ldd', LIBRARY], stdout=subprocess.PIPE,
                            text=True, check=True).stdout
    return ':'.join(re.findall(r'lib[at]san\.so\.\d+ => (\S+)', linked))


def environment(devices=None):
    """What preloads the library, behind the sanitizer it may be built with."""
    preload = list(filter(None, [sanitizer_runtime(), LIBRARY]))
    # The programs free little of what they take.
    sanitizer = os.environ.get('ASAN_OPTIONS', '') + ':detect_leaks=0'
    result = dict(os.environ, LD_PRELOAD=':'.join(preload),
                  ASAN_OPTIONS=sanitizer.strip(':'))
    result.pop('WEIR_HCA_DEVICES', None)
    if devices:
        result['WEIR_HCA_DEVICES'] = devices
    return result
