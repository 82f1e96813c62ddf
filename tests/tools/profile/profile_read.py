#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# profile_read.py FORMAT FILE - prints the stacks of an export of mam profile as collapsed stacks, of
# what is live at the peak, sorted. FORMAT: collapsed, speedscope, pprof, json. Stops if a file is not valid.
# FORMAT totals: of a pprof file, the sums of its values, and its duration.

import gzip
import json
import os
import sys


def place(function, file, line):
    """As mam writes a frame."""
    if not file:
        return function or '?'
    return f'{function or "?"} ({os.path.basename(file)}{f":{line}" if line else ""})'


def collapsed(path):
    with open(path, encoding='utf-8') as file:
        for line in file:
            stack, value = line.rstrip('\n').rsplit(' ', 1)
            yield stack.split(';'), int(value)


def speedscope(path):
    with open(path, encoding='utf-8') as file:
        root = json.load(file)
    assert root['$schema'] == 'https://www.speedscope.app/file-format-schema.json'
    frames = root['shared']['frames']
    profile = root['profiles'][root['activeProfileIndex']]
    assert profile['type'] == 'sampled' and len(profile['samples']) == len(profile['weights'])
    assert profile['startValue'] == 0 and profile['endValue'] == sum(profile['weights'])
    for sample, weight in zip(profile['samples'], profile['weights']):
        yield [place(frames[i]['name'], frames[i].get('file'), frames[i].get('line'))
               for i in sample], weight


def varint(data, at):
    number = shift = 0
    while True:
        byte = data[at]
        number |= (byte & 0x7f) << shift
        shift += 7
        at += 1
        if byte < 0x80:
            return number, at


def message(data):
    """The fields of a message: number -> values, integers or bytes."""
    fields, at = {}, 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
        else:
            assert tag & 7 == 2, 'a wire type that mam does not write'
            length, at = varint(data, at)
            value, at = data[at:at + length], at + length
            assert len(value) == length
        fields.setdefault(tag >> 3, []).append(value)
    return fields


def packed(data):
    numbers, at = [], 0
    while at < len(data):
        number, at = varint(data, at)
        numbers.append(number - (1 << 64) if number >> 63 else number)
    return numbers


def pprof(path):
    with gzip.open(path) as file:
        profile = message(file.read())
    strings = [text.decode('utf-8') for text in profile[6]]
    assert strings[0] == ''
    types = [strings[message(value)[1][0]] + '/' + strings[message(value)[2][0]] for value in profile[1]]
    assert types == ['alloc_objects/count', 'alloc_space/bytes', 'inuse_objects/count',
                     'inuse_space/bytes'], types
    assert strings[profile[14][0]] == 'inuse_space'
    functions = {f[1][0]: f for f in map(message, profile[5])}
    locations = {}
    for location in map(message, profile[4]):
        line = message(location[4][0])
        function = functions[line[1][0]]
        locations[location[1][0]] = place(strings[function[2][0]], strings[function[4][0]], line[2][0])
    for sample in map(message, profile[2]):
        values = packed(sample[2][0])
        assert len(values) == 4 and values[0] >= values[2] and values[1] >= values[3]
        if values[3] > 0:
            yield [locations[i] for i in reversed(packed(sample[1][0]))], values[3]


def totals(path):
    with gzip.open(path) as file:
        profile = message(file.read())
    strings = [text.decode('utf-8') for text in profile[6]]
    sums = [sum(values) for values in zip(*(packed(message(sample)[2][0]) for sample in profile[2]))]
    for value, number in zip(profile[1], sums):
        yield strings[message(value)[1][0]], number
    yield 'duration', profile[10][0]


def everything(path):
    with open(path, encoding='utf-8') as file:
        root = json.load(file)
    assert root['format'] == 'mam-profile-1'
    nodes, leaves, moments = root['nodes'], root['leaves'], root['moments']
    assert nodes[0] == [-1, 0] and all(parent < i for i, (parent, _) in enumerate(nodes))
    live = [[0, 0] for _ in leaves]
    for number, moment in enumerate(moments):
        for leaf, size, count in moment['changes']:
            live[leaf] = [size, count]
        assert [sum(l[0] for l in live), sum(l[1] for l in live)] == moment['live'], number
        assert moment['highest'] >= moment['live'][0], number
        if number == root['peak']:
            assert live == [leaf['peak'] for leaf in leaves]
            assert moment['live'][0] == max(m['highest'] for m in moments)
    assert live == [leaf['exit'] for leaf in leaves]
    for key in 'event', 'time':
        assert [m[key] for m in moments] == sorted(m[key] for m in moments), key
    for leaf in leaves:
        node, stack = leaf['node'], []
        while node:
            frame = root['frames'][nodes[node][1]]
            stack.append(('tag ' if frame['kind'] == 'tag' else '') +
                         place(frame['function'], frame['file'], frame['line']))
            node = nodes[node][0]
        if leaf['peak'][0] > 0:
            yield stack[::-1], round(leaf['peak'][0])


if sys.argv[1] == 'totals':
    print(' '.join(f'{name} {number}' for name, number in totals(sys.argv[2])))
    sys.exit(0)
READERS = {'collapsed': collapsed, 'speedscope': speedscope, 'pprof': pprof, 'json': everything}
for found, size in sorted(READERS[sys.argv[1]](sys.argv[2])):
    print(';'.join(found), size)
