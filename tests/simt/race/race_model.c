/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/race/race_model.h"

static uint64_t bit(int i)
{
	return UINT64_C(1) << i;
}

static uint64_t bytes_of(const struct model_event *event)
{
	return (event->bytes == 64 ? ~UINT64_C(0) : (UINT64_C(1) << event->bytes) - 1) << event->at;
}

static bool is_access(const struct model_event *event)
{
	return event->kind == MODEL_PLAIN || event->kind == MODEL_ATOMIC;
}

static bool acquires(enum simt_order order)
{
	return order == MAM_ACQUIRE || order == MAM_ACQ_REL || order == MAM_SEQ_CST;
}

static bool releases(enum simt_order order)
{
	return order == MAM_RELEASE || order == MAM_ACQ_REL || order == MAM_SEQ_CST;
}

/* Does `scope` of lane `one` cover lane `other`? */
static bool covers(const struct model *model, enum simt_scope scope, uint32_t one, uint32_t other)
{
	if (one == other || scope == MAM_AT_SYSTEM)
		return true;
	if (model->host[one] || model->host[other])
		return false;
	return scope == MAM_AT_DEVICE || model->block[one] == model->block[other];
}

static bool agree(const struct model *model, const struct model_event *one,
		  const struct model_event *other)
{
	return covers(model, one->scope, one->lane, other->lane) &&
	       covers(model, other->scope, other->lane, one->lane);
}

static bool same_bytes(const struct model_event *one, const struct model_event *other)
{
	return one->at == other->at && one->bytes == other->bytes;
}

void model_reset(struct model *model)
{
	model->count = 0;
	for (int i = 0; i < MODEL_LANES; i++)
		model->last[i] = -1;
}

/* The events that happen before the next event of the lane, as far as known. */
static uint64_t so_far(const struct model *model, uint32_t lane)
{
	return model->last[lane] < 0 ? 0 : model->event[model->last[lane]].before;
}

static int link_of(const struct model *model, const struct model_event *read)
{
	for (int i = model->count - 1; i >= 0; i--) {
		const struct model_event *write = &model->event[i];

		if (!is_access(write) || !write->wrote || !(write->live & bytes_of(read)))
			continue;
		if (write->kind == MODEL_ATOMIC && same_bytes(write, read) &&
		    write->live == bytes_of(write) && agree(model, write, read))
			return i;
		return -1;
	}
	return -1;
}

/* The write itself, and fences of its lane before it. */
static uint64_t heads_of_write(const struct model *model, int at)
{
	const struct model_event *write = &model->event[at];
	uint64_t heads = releases(write->order) ? bit(at) : 0;

	for (int i = 0; i < at; i++) {
		const struct model_event *fence = &model->event[i];

		if (fence->kind == MODEL_FENCE && fence->lane == write->lane &&
		    releases(fence->order))
			heads |= bit(i);
	}
	return heads;
}

static uint64_t heads_of_read(const struct model *model, const struct model_event *read)
{
	uint64_t heads = 0;

	for (int at = read->link; at >= 0; at = model->event[at].link) {
		heads |= heads_of_write(model, at);
		if (model->event[at].op == SIMT_STORE)
			break;
	}
	return heads;
}

/* The sets of those heads whose scopes agree with that of `taker`. */
static uint64_t take(const struct model *model, uint64_t heads, const struct model_event *taker)
{
	uint64_t before = 0;

	for (int i = 0; i < model->count; i++)
		if (heads & bit(i) && agree(model, &model->event[i], taker))
			before |= model->event[i].before;
	return before;
}

static uint64_t take_by_fence(const struct model *model, const struct model_event *fence)
{
	uint64_t before = 0;

	for (int i = 0; i < model->count; i++) {
		const struct model_event *event = &model->event[i];

		if (event->kind == MODEL_ATOMIC && event->lane == fence->lane &&
		    acquires(fence->order))
			before |= take(model, event->heads, fence);
		if (event->kind == MODEL_FENCE && event->order == MAM_SEQ_CST &&
		    fence->order == MAM_SEQ_CST)
			before |= take(model, bit(i), fence);
	}
	return before;
}

/* Computes the model's fields of the event. */
static void work_out(const struct model *model, struct model_event *event)
{
	event->before = event->kind == MODEL_MEET ? 0 : so_far(model, event->lane);
	event->heads = 0;
	event->link = -1;
	event->live = is_access(event) ? bytes_of(event) : 0;
	if (event->kind == MODEL_ATOMIC && event->op != SIMT_STORE) {
		event->link = link_of(model, event);
		event->heads = heads_of_read(model, event);
		if (acquires(event->order))
			event->before |= take(model, event->heads, event);
	}
	if (event->kind == MODEL_FENCE)
		event->before |= take_by_fence(model, event);
	if (event->kind == MODEL_ORDER)
		event->before |= so_far(model, event->other);
	for (uint32_t i = 0; event->kind == MODEL_MEET && i < MODEL_LANES; i++)
		if (event->other >> i & 1)
			event->before |= so_far(model, i);
}

uint64_t model_races(const struct model *model, const struct model_event *event)
{
	struct model_event next = *event;
	uint64_t races = 0;

	if (!is_access(event))
		return 0;
	work_out(model, &next);
	for (int i = 0; i < model->count; i++) {
		const struct model_event *earlier = &model->event[i];

		if (!(earlier->live & next.live) || !(earlier->wrote || next.wrote) ||
		    next.before & bit(i))
			continue;
		if (earlier->kind == MODEL_ATOMIC && next.kind == MODEL_ATOMIC &&
		    same_bytes(earlier, &next) && agree(model, earlier, &next))
			continue;
		races |= bit(i);
	}
	return races;
}

void model_add(struct model *model, const struct model_event *event)
{
	struct model_event *next = &model->event[model->count];

	*next = *event;
	work_out(model, next);
	next->before |= bit(model->count);
	for (uint32_t i = 0; next->kind == MODEL_MEET && i < MODEL_LANES; i++)
		if (next->other >> i & 1)
			model->last[i] = model->count;
	if (next->kind == MODEL_FORGET)
		for (int i = 0; i < model->count; i++)
			model->event[i].live &= ~bytes_of(next);
	else if (next->kind != MODEL_MEET)
		model->last[next->lane] = model->count;
	model->count++;
}
