#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# read_make.py NAME [PROTOCOL] - writes a pickle to stdout: snapshots like PyTorch's, made by
# Python's own writer, and malicious files.

import collections
import os
import pickle
import sys

MIB = 1 << 20
BASE = 0x7f0000000000
NEWER = []  # values for which older protocols call functions


def event(action, number, size, **more):
    entry = {'action': action, 'addr': BASE + int(number * MIB), 'size': size, 'stream': 0}
    entry.update(more)
    return entry


def free(number, size, **more):
    return [event('free_requested', number, size, **more),
            event('free_completed', number, size, **more)]


def snapshot(*traces, segments=()):
    return {'segments': list(segments), 'device_traces': list(traces),
            'allocator_settings': {'garbage_collection_threshold': 0.5, 'expandable_segments': False},
            'external_annotations': [(None, True, -1, 1 << 70, 2.5, ()), *NEWER]}


def segment(number, blocks, device=0):
    """Blocks: (state, size, requested)."""
    made, address = [], BASE + number * MIB
    for state, size, requested in blocks:
        made.append({'address': address, 'size': size, 'requested_size': requested, 'state': state,
                     'frames': []})
        address += size
    return {'device': device, 'address': BASE + number * MIB, 'stream': 0, 'blocks': made,
            'total_size': sum(size for _, size, _ in blocks), 'segment_type': 'large'}


def frame(filename, line, name):
    return {'filename': filename, 'line': line, 'name': name}


def frames():
    lib = '/usr/lib/python3/dist-packages/'
    module = frame(lib + 'torch/nn/modules/module.py', 1790, '_call_impl')
    unwind = frame('??', 0, 'torch::unwind::unwind()')
    main = frame('/home/me/train.py', 88, 'main')
    lists = [
        [unwind, frame(lib + 'torch/nn/functional.py', 12, 'relu'), module,
         frame('/home/me/torch/net.py', 7, 'forward'), main],
        [unwind, module],
        [unwind, frame('Functions.cpp', 0, 'at::native::mm(at::Tensor const&)'),
         frame('??', 0, 'torch::autograd::generated::AddmmBackward0::apply(std::vector<int> (*)(int))')],
        [unwind, frame('??', 0, 'void at::native::sum<float, int>(int)'),
         frame('', 0, 'main')],
        [unwind],
        [],
        [frame('<stdin>', 1, '<module>')],
        [frame('<frozen runpy>', 9, 'run'), frame('/src/torch/_dynamo/x.py', 2, 'y'),
         frame('/src/torch/train.py', 3, 'z')],
        None,
        None,
        [frame('odd', None, 5), 7, {}],
        [frame('??', 0, 'at::native::mm(int)'), frame('??', 0, 'net::apply(int)')],
    ]
    events = []
    for number, each in enumerate(lists):
        more = {} if each is None else {'frames': each}
        if number == 8:
            more['user_metadata'] = 'step 3'
        if number == 9:
            more.update(user_metadata='', category='Gradient')
        events.append(event('alloc', number, 1000, **more))
    events += [event('alloc', 20 + number, 1, frames=lists[0]) for number in range(3)]
    return snapshot(events)


def plain():
    return snapshot([
        event('segment_alloc', 0, 20 * MIB, time_us=100),
        event('alloc', 0, 5000, time_us=101),
        event('alloc', 1, 6000, time_us=102, stream=7),
        *free(0, 5000, time_us=103),
        event('free_requested', 1, 6000, time_us=104, stream=7),
        event('alloc', 0, 7000, time_us=105),
        event('snapshot', 0, 0, time_us=106),
        event('free_completed', 1, 6000, time_us=107, stream=7),
        event('segment_alloc', 64, 10 * MIB, time_us=108),
        event('segment_free', 64, 10 * MIB, time_us=109),
        {'action': 'oom', 'device_free': 3 * MIB, 'size': 9 * MIB, 'stream': 0, 'time_us': 110},
    ], segments=[segment(0, [('active_allocated', MIB, 7000), ('inactive', 19 * MIB, 0)]),
                 segment(128, [('inactive', 2 * MIB, 0)]), segment(256, [('inactive', MIB, 0)], 1)])


def late():
    """Starts in the middle; one block lives all the time, one came after the history stopped."""
    return snapshot([
        event('free_completed', 5, 400),
        *free(3, 300),
        event('alloc', 3, 350),
        event('segment_free', 64, 10 * MIB),
        *free(9, 900),
        event('alloc', 10, 2 * MIB),
        *free(10, 2 * MIB),
        event('alloc', 10.5, 1),
        *free(10.5, 1),
    ], segments=[segment(0, [('active_allocated', MIB, 100), ('inactive', 2 * MIB, 0),
                             ('active_allocated', MIB, 350), ('active_pending_free', MIB, 5),
                             ('inactive', 5 * MIB, 0), ('active_allocated', MIB, 5),
                             ('active_allocated', MIB, 6), ('active_allocated', MIB // 2, 77)])])


SHAPES = {
    'plain': plain,
    'late': late,
    'frames': frames,
    'devices': lambda: snapshot([event('alloc', 0, 10)], [event('alloc', 0, 20), *free(0, 20)], [],
                                segments=[segment(4, [('active_allocated', MIB, 30)], 1)]),
    'completed': lambda: snapshot([event('alloc', 0, 10), event('free_completed', 0, 10),
                                   event('alloc', 0, 20), event('free_completed', 1, 7)]),
    'old': lambda: snapshot([event('alloc', 0, 10), event('free', 0, 10)], segments=[
        {'address': BASE, 'total_size': MIB, 'stream': 0, 'blocks': [
            {'size': 512, 'state': 'inactive'},
            {'size': 1024, 'state': 'active_allocated', 'history': [{'real_size': 600}]}]}]),
    'gaps': lambda: snapshot([event('alloc', 0, 10), event('alloc', 0, 20), *free(0, 20), *free(0, 20)]),
    'deep': lambda: snapshot([event('alloc', 0, 1000, frames=[frame('w.py', line, 'f') for line in range(1100)])]),
    'nothing': lambda: snapshot([], []),
    'none': lambda: snapshot(),
    'list': lambda: [segment(0, [])],
    'dict': lambda: {'segments': []},
    'number': lambda: 5,
    'no-address': lambda: snapshot([{'action': 'alloc', 'size': 5}]),
    'no-size': lambda: snapshot([{'action': 'alloc', 'addr': 5}]),
    'less': lambda: snapshot([event('alloc', 0, -5)]),
    'huge': lambda: snapshot([event('alloc', 0, 1 << 64)]),
    'no-event': lambda: snapshot([event('alloc', 0, 5), 'alloc']),
    'wide': lambda: snapshot([dict((str(i), i) for i in range(1000))]),
}


def many():
    """A list that is in the file once and in its segments a hundred thousand times."""
    blocks = [{'size': 512, 'state': 'inactive'}] * 100000
    part = {'device': 0, 'address': BASE, 'total_size': 1, 'stream': 0, 'blocks': blocks}
    return snapshot([event('alloc', 0, 10)], segments=[part] * 100000)


class Touch:
    def __reduce__(self):
        return os.system, ('touch made',)


WISHES = {
    'call': lambda: snapshot([Touch()]),
    'counter': lambda: snapshot([collections.Counter('aab')]),
    'object': lambda: {'device_traces': [[SystemExit(3)]]},
}

if __name__ == '__main__':
    name = sys.argv[1]
    protocol = int(sys.argv[2]) if len(sys.argv) > 2 else pickle.DEFAULT_PROTOCOL
    if protocol >= 4:
        NEWER.extend([b'\x00\xff', {1, 2}, frozenset([1])])
    value = many() if name == 'many' else {**SHAPES, **WISHES}[name]()
    pickle.dump(value, sys.stdout.buffer, protocol)
