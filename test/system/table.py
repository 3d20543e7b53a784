"""Reads the table that --json writes."""


def received(table):
    """Packets that all pipelines together took in."""
    return table['packets']['received']


def sent(table):
    """Packets that all pipelines together gave out."""
    return table['packets']['sent']


def _balance(name, parts):
    """What is wrong with received + made = sent + dropped + taken + held."""
    came = parts['received'] + parts['made']
    went = (parts['sent'] + parts['dropped'] + parts['taken'] + parts['held'])
    return [] if came == went else [f'{name}: {came} came, {went} went: {parts}']


def unbalanced(table):
    """Each place where a packet or an mbuf is unaccounted for, as text.

    Does the sums itself: the app's own word ("conserved") is one more thing to
    compare.
    """
    problems = _balance('all pipelines', table['packets'])
    if not table['packets']['conserved']:
        problems.append('the app itself says that packets are missing')
    totals = dict.fromkeys(['received', 'sent', 'dropped', 'held'], 0)
    for lcore in table['lcores']:
        for pipeline in lcore['pipelines']:
            stages = pipeline['stages']
            parts = {
                'received': pipeline['received'],
                'sent': pipeline['sent'],
                'held': pipeline['held'],
                'made': sum(stage['made'] for stage in stages),
                'taken': sum(stage['taken'] for stage in stages),
                'dropped': sum(sum(stage['drops'].values())
                               for stage in stages),
            }
            problems += _balance(f'lcore {lcore["lcore"]}', parts)
            for key in totals:
                totals[key] += parts[key]
            # What came by a ring was received before, and sent there.
            if pipeline['from_ring']:
                totals['received'] -= parts['received']
                totals['sent'] -= parts['received']
    in_rings = sum(ring['size'] for ring in table['rings'])
    totals['sent'] -= in_rings
    totals['held'] += in_rings
    # Pipelines call sent what a queue took, also if it then dropped it.
    lost = sum(sum(queue['drops'].values())
               for port in table['ports'] for queue in port['queues']
               if queue['name'].startswith('tx'))
    totals['sent'] -= lost
    totals['dropped'] += lost
    for key, value in totals.items():
        if value != table['packets'][key]:
            problems.append(f'{key}: pipelines say {value}, the sum says '
                            f'{table["packets"][key]}')
    # A packet that nobody holds keeps no mbuf.
    if table['packets']['held'] == 0 and table['mbufs']['held'] != 0:
        problems.append(f'mbufs leaked: {table["mbufs"]}')
    return problems
