/* SPDX-License-Identifier: Apache-2.0 */
/*
 * race_model.h - the race checker's rules again, implemented literally and slowly: all events of a
 * short run are kept, each with the set of all events that happen before it.
 *
 * 1. A set is 64 bits, one per event. An event's set is its lane's previous set, the event itself,
 *    and the sets of the events that synchronize with it: all edges lead forward, so this is the
 *    transitive closure.
 * 2. An atomic read is linked to the newest write of its bytes, if that is atomic, of the same
 *    bytes, and scopes cover each other's lanes. Its heads are found by following links back
 *    through read-modify-writes: each write there that releases, and each release fence earlier in
 *    the lane of such a write.
 * 3. An acquiring read takes the sets of heads whose scope and its own cover each other's lanes; an
 *    acquire fence takes those of the heads of all reads before it in its lane, with the fence's
 *    scope.
 * 4. A seq_cst fence takes the sets of all earlier ones whose scopes agree with its own.
 * 5. An event races with an earlier one that is not in its set, if one of the two writes a byte
 *    that both access, unless both are atomic, of the same bytes, and their scopes cover each
 *    other's lanes.
 */
#ifndef MAM_TESTS_SIMT_RACE_MODEL_H
#define MAM_TESTS_SIMT_RACE_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "device/port_simt.h"

#define MODEL_EVENTS 64
#define MODEL_LANES 24
#define MODEL_BYTES 64 /* of memory */

enum model_kind { MODEL_PLAIN, MODEL_ATOMIC, MODEL_FENCE, MODEL_MEET, MODEL_ORDER, MODEL_FORGET };

struct model_event {
	enum model_kind kind;
	uint32_t lane;  /* MODEL_ORDER: the later one */
	uint32_t other; /* MODEL_ORDER: the earlier one; MODEL_MEET: a mask of lanes */
	uint32_t at, bytes;
	enum simt_op op; /* SIMT_LOAD, SIMT_STORE also for plain accesses */
	bool wrote;
	enum simt_order order;
	enum simt_scope scope;
	/* Filled in by the model. */
	uint64_t before; /* events that happen before this one, and itself */
	uint64_t heads;  /* of a read: events that it may acquire */
	uint64_t live;   /* bytes that were not discarded since */
	int link;        /* of a read: the write that it is linked to, or -1 */
};

struct model {
	uint32_t block[MODEL_LANES]; /* of each lane; any value for host threads */
	bool host[MODEL_LANES];
	int last[MODEL_LANES]; /* event of each lane, or -1 */
	int count;
	struct model_event event[MODEL_EVENTS];
};

void model_reset(struct model *model);
/* The events that would race with this one if it were the next one. */
uint64_t model_races(const struct model *model, const struct model_event *event);
void model_add(struct model *model, const struct model_event *event);

#endif
