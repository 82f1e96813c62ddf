/* SPDX-License-Identifier: Apache-2.0 */
/*
 * race_model.h - the race checker's rules once more, by the book and slowly: all events of a short
 * run are kept, and for each the set of all that happen before it.
 *
 * 1. A set is 64 bits, one for each event. An event's set is its lane's last one's, and itself, and
 *    the sets of those that synchronise with it: all edges lead forward, so this is the transitive
 *    closure.
 * 2. An atomic read is linked to the newest write of its bytes, if that is atomic, of the same
 *    bytes, and scopes cover each other's lanes. Its heads are found by following links back
 *    through read-modify-writes: each write there that releases, and each release fence earlier in
 *    the lane of such a write.
 * 3. An acquiring read takes the sets of heads whose scope and its own cover each other's lanes; an
 *    acquire fence those of heads of all reads before it in its lane, with the fence's scope.
 * 4. A seq_cst fence takes the sets of all earlier ones whose scopes agree with its own.
 * 5. An event races with an earlier one that is not in its set, of which one writes a byte that
 *    both have, unless both are atomic, of the same bytes, and their scopes cover each other's
 *    lanes.
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
	uint32_t lane;  /* MODEL_ORDER: the one that comes after */
	uint32_t other; /* MODEL_ORDER: the one before; MODEL_MEET: a mask of lanes */
	uint32_t at, bytes;
	enum simt_op op; /* SIMT_LOAD, SIMT_STORE of plain ones too */
	bool wrote;
	enum simt_order order;
	enum simt_scope scope;
	/* The model's own. */
	uint64_t before; /* events that happen before this one, and itself */
	uint64_t heads;  /* of a read: events that it may learn from */
	uint64_t live;   /* bytes that were not forgotten since */
	int link;        /* of a read: the write that it is linked to, or -1 */
};

struct model {
	uint32_t block[MODEL_LANES]; /* of each lane; of host threads anything */
	bool host[MODEL_LANES];
	int last[MODEL_LANES]; /* event of each lane, or -1 */
	int count;
	struct model_event event[MODEL_EVENTS];
};

void model_reset(struct model *model);
/* The events that would race with this one if it came next. */
uint64_t model_races(const struct model *model, const struct model_event *event);
void model_add(struct model *model, const struct model_event *event);

#endif
