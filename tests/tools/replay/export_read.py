#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# export_read.py NAME - what a program reads from NAME.json and NAME.pickle, as key=value lines.
#
# It knows nothing about mam: it uses Python's own readers, and the rules of viewers. A violation is
# printed in `problem`, otherwise "none".

import bisect
import json
import pickle
import sys


def read_json(path, out):
    with open(path, encoding='utf-8') as file:
        events = json.load(file)
    other = events['otherData']
    events = events['traceEvents']
    problem = 'none'
    tracks, processes, lives, changes = {}, {}, [], []
    last = {}
    before = 0
    for event in events:
        if event['ph'] == 'M':
            if event['name'] == 'process_name':
                processes[event['pid']] = event['args']['name']
            continue
        if event['ts'] < before:
            problem = 'time falls at %s' % event
        before = event['ts']
        if event['pid'] not in processes:
            problem = 'a process without a name: %s' % event
        if event['ph'] == 'X':
            track = event['pid'], event['tid']
            if event['ts'] < tracks.get(track, 0):
                problem = 'slices overlap at %s' % event
            tracks[track] = round(event['ts'] + event['dur'], 3)
            changes.append((event['ts'], event['args']['bytes']))
            if 'freed' in event['args']:
                lives.append(event['args']['bytes'])
            else:
                changes.append((round(event['ts'] + event['dur'], 3), -event['args']['bytes']))
        elif event['ph'] == 'C':
            last.setdefault(event['name'], []).append(event['args']['bytes'])
    now = peak = 0
    for _, change in sorted(changes):
        now += change
        peak = max(peak, now)
    slices = [event for event in events if event['ph'] == 'X']
    out['json_problem'] = problem
    out['json_times'] = other['times']
    out['slices'] = len(slices)
    out['without_slice'] = other['blocks_without_slice']
    out['tracks'] = len(tracks)
    out['groups'] = ', '.join(processes[key] for key in sorted(processes) if key > 1)
    out['failures'] = sum(event['ph'] == 'i' for event in events)
    out['slices_peak'] = peak
    out['slices_left'] = sum(lives)
    out['slices_bytes'] = sum(event['args']['bytes'] for event in slices)
    for name in 'live', 'reserved', 'high water', 'physical', 'free below high water':
        values = last.get(name, [0])
        out['json ' + name] = '%d %d' % (max(values), values[-1])
    if slices:
        out['first'] = json.dumps(slices[0]['args'].get('who', ''))
        out['first_ts'] = slices[0]['ts']
        out['first_dur'] = slices[0]['dur']


def read_pickle(path, out):
    with open(path, 'rb') as file:
        data = pickle.load(file)
    problem = 'none'
    segments = sorted((s['address'], s['total_size']) for s in data['segments'])
    for one, two in zip(segments, segments[1:]):
        if one[0] + one[1] > two[0]:
            problem = 'segments overlap at %d' % two[0]
    left = {}
    for segment in data['segments']:
        at = segment['address']
        for block in segment['blocks']:
            if block['address'] != at:
                problem = 'a gap before %s' % block
            at += block['size']
            if block['state'] == 'active_allocated':
                left[block['address']] = block['requested_size']
        if at != segment['address'] + segment['total_size']:
            problem = 'blocks do not fill the segment %d' % segment['address']
        if segment['requested_size'] > segment['allocated_size']:
            problem = 'more asked for than there is in %d' % segment['address']
    live, opened, now, peak = {}, set(), 0, 0
    entries = data['device_traces'][0]
    for number, entry in enumerate(entries):
        if entry['action'] == 'segment_alloc':
            if (entry['addr'], entry['size']) in opened:
                problem = 'opened twice: %s' % entry
            opened.add((entry['addr'], entry['size']))
        elif entry['action'] == 'alloc':
            at = bisect.bisect_right(segments, (entry['addr'], 1 << 64)) - 1
            if at < 0 or segments[at] not in opened or \
                    entry['addr'] + entry['size'] > sum(segments[at]):
                problem = 'outside of all segments: %s' % entry
            if entry['addr'] in live:
                problem = 'there twice: %s' % entry
            live[entry['addr']] = entry['size']
            now += entry['size']
            peak = max(peak, now)
        elif entry['action'] == 'free_requested':
            if entries[number + 1]['action'] != 'free_completed':
                problem = 'never completed: %s' % entry
        elif entry['action'] == 'free_completed':
            if live.pop(entry['addr'], None) != entry['size']:
                problem = 'freed but not live: %s' % entry
            now -= entry['size']
    if live != left:
        problem = 'the final blocks do not match the events'
    if opened != set(segments):
        problem = 'segments that were never opened'
    out['pickle_problem'] = problem
    for action in 'alloc', 'free_completed', 'oom':
        out['pickle ' + action] = sum(e['action'] == action for e in entries)
    out['segments'] = len(segments)
    out['segments_bytes'] = sum(size for _, size in segments)
    out['pickle_peak'] = peak
    out['pickle_left'] = sum(left.values())
    stacks = [e['frames'] for e in entries if e['action'] == 'alloc']
    out['stacks'] = json.dumps([['%(filename)s|%(line)d|%(name)s' % f for f in s]
                                for s in stacks[:6]])
    out['labels'] = ' / '.join(e['user_metadata'] for e in entries[:4] if 'user_metadata' in e)
    out['time_us'] = ' '.join(str(e['time_us']) for e in entries[:4])
    out['streams'] = ' '.join(str(e['stream']) for e in entries[:8])


found = {}
read_json(sys.argv[1] + '.json', found)
read_pickle(sys.argv[1] + '.pickle', found)
for key, value in found.items():
    print('%s=%s' % (key, value))
