"""Seeds of messages about groups."""

import struct


def _step(kind, *numbers, message=None):
    """A step of membership: what happens, with what."""
    if message is not None:
        numbers += (len(message),)
    return bytes([kind, *numbers]) + (message or b'')


_HEAR, _ROUTE, _WANT, _WAIT, _SAY, _ASK, _REFRESH = range(7)
_SAY_ALL = _step(_SAY) + _step(_WAIT, 100, 0) + _step(_SAY)
_ASK_ALL = b''.join(_step(_ASK) + _step(_WAIT, 100, 0) for _ in range(3)) + \
    _step(_ASK)


def _igmp_group(number):
    return bytes([224, 0, 0, number])


def _mld_group(number):
    return b'\xff\x02' + bytes(13) + bytes([number])


def membership():
    """The same for both protocols: name, first byte, steps."""
    seeds = {}
    for first, name, group, zeros in [(0, 'igmp', _igmp_group, 4),
                                      (1, 'mld', _mld_group, 16)]:
        kind = 0x22 if first == 0 else 143
        query = b'\x11\x0a\0\0' if first == 0 else b'\x82\0\0\0\0\x64\0\0'
        old = b'\x16\0\0\0' if first == 0 else b'\x83\0\0\0\0\0\0\0'
        leave = b'\x17\0\0\0' if first == 0 else b'\x84\0\0\0\0\0\0\0'

        def source(number):
            return bytes(zeros - 1) + bytes([number])

        def report(*records):
            return struct.pack('>B5xH', kind, len(records))[:8] + b''.join(
                struct.pack('>BBH', record, 0, len(sources)) + group(of) +
                b''.join(source(one) for one in sources)
                for record, of, sources in records)

        join = _step(_WANT, 2, 1, 0)
        some = _step(_WANT, 3, 0, 2, 1, 2)
        seeds[f'{name}_join_leave'] = bytes([first]) + join + some + \
            _SAY_ALL + _step(_WANT, 2, 0, 0) + _SAY_ALL
        seeds[f'{name}_answers'] = bytes([first]) + join + some + _SAY_ALL + \
            _step(_HEAR, message=query + bytes(zeros) + b'\2\x7d\0\0') + \
            _step(_HEAR, message=query + group(3) + b'\2\x7d\0\1' +
                  source(2)) + _SAY_ALL + _step(_REFRESH) + _SAY_ALL
        seeds[f'{name}_old_querier'] = bytes([first]) + join + \
            _step(_HEAR, message=query + bytes(zeros)) + _SAY_ALL + \
            _step(_HEAR, message=old + group(3)) + \
            _step(_WANT, 2, 0, 0) + _SAY_ALL
        seeds[f'{name}_router'] = bytes([first]) + b''.join(
            _step(_ROUTE, 6, message=report(*records)) + _ASK_ALL
            for records in [[(4, 3, [])], [(2, 3, [1, 2])], [(6, 3, [3])],
                            [(3, 3, [1])], [(5, 4, [1, 2]), (1, 5, [3])],
                            [(6, 4, [1]), (3, 5, [])]])
        seeds[f'{name}_router_old'] = bytes([first]) + \
            _step(_ROUTE, 6, message=old + group(3)) + _ASK_ALL + \
            _step(_ROUTE, 6, message=leave + group(3)) + _ASK_ALL + \
            _step(_ROUTE, 1, message=query + bytes(zeros) + b'\2\x7d\0\0') + \
            _ASK_ALL
    return seeds


def relay():
    """A proxy: members' messages, then datagrams that they want and others."""
    seeds = {}
    for name, hear, data, head, groups in [
            ('igmp', 1, 4, b'\x22\0\0\0\0\0\0', [239, 252]),
            ('mld', 2, 5, b'\x8f\0\0\0\0\0\0', [0xff, 0x3e])]:
        width = 4 if name == 'igmp' else 16

        def group(last):
            return bytes(groups) + bytes(width - 3) + bytes([last])

        def source(last):
            return bytes([192, 0]) + bytes(width - 3) + bytes([last])

        def report(*records):
            message = head + bytes([len(records)]) + b''.join(
                struct.pack('>BBH', kind, 0, len(sources)) + group(of) +
                b''.join(source(one) for one in sources)
                for kind, of, sources in records)
            return bytes([hear, 77, len(message)]) + message

        def datagram(to, of, hops=9):
            return bytes([data, *groups, to, 192, 0, of, hops])

        seeds[f'{name}_all'] = report((4, 5, [])) + b''.join(
            datagram(to, 1, hops) for to in (5, 6) for hops in (0, 1, 2, 255))
        seeds[f'{name}_sources'] = report((5, 5, [1, 2])) + b''.join(
            datagram(5, of) for of in range(4)) + report((6, 5, [1])) + \
            datagram(5, 1)
        seeds[f'{name}_but_some'] = report((4, 5, [1])) + b''.join(
            datagram(5, of) for of in range(4)) + report((2, 5, [2])) + \
            datagram(5, 1)
        seeds[f'{name}_many'] = report(*[(4, of, []) for of in range(9)]) + \
            b''.join(datagram(to, 1) for to in range(9))
    seeds['of_the_link'] = bytes([1, 77, 8]) + b'\x16\0\0\0\xe0\0\0\xfb' + \
        bytes([4, 224, 0, 251, 192, 0, 1, 9])
    seeds['any'] = bytes([3, 14]) + bytes(14) + bytes([0, 9]) + bytes(9)
    return seeds
