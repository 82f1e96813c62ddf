/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer_fence.c - record, query and wait (peer_fence.h).
 *
 *   record  1. List the contexts, in the order of their links. A context of the last record keeps
 *           its event, found by the number of the link: a context that was reset has a new link,
 *           and the events of the old one are gone.
 *           2. Create the missing events, and record each.
 *   ask     Query each event that has not passed.
 *   wait    Wait for each context, as capture.h allows.
 *
 * The state of the context decides what a failed call means (judge). A peer that is destroyed or
 * has a sticky error is left out of the fence. Any other failure is considered transient: the
 * caller concludes nothing from it, and tries again. An event that the driver does not know is
 * forgotten. Its part is then recorded again with a new event, which covers more work than the old
 * one.
 *
 * Bound: one driver call per context.
 *
 * Invariant: the parts of a fence are in the order of their links, the owner first.
 */
#include "interpose/memory/peer_fence.h"

#include <stdlib.h>

#include "interpose/memory/capture.h"
#include "interpose/memory/peer.h"
#include "interpose/routes/hooks.h"
#include "interpose/routes/real.h"

#define FEW 8         /* contexts that are listed without an allocation */
#define TIMING_OFF 2u /* cuEventCreate: CU_EVENT_DISABLE_TIMING */

#define INVALID_HANDLE 400 /* CUDA_ERROR_INVALID_HANDLE: the event was destroyed with its context */

struct mam_peer_fence_part {
	void *context;
	uint64_t link; /* 0: the owner */
	void *event;   /* NULL: not created yet */
	bool is_open;  /* recorded, and not known to have passed */
};

bool mam_peer_fence_is_possible(void)
{
	const struct mam_real_driver *driver = mam_real_driver();

	return driver != NULL && driver->ctx_record_event != NULL && driver->event_create != NULL &&
	       driver->event_query != NULL;
}

/* Makes a context current for a few calls. Returns the driver's code. */
static int enter(const struct mam_real_driver *driver, void *context, bool *pushed)
{
	void *current = NULL;
	int code = driver->ctx_current(&current);

	*pushed = false;
	if (code != MAM_CUDA_SUCCESS || current == context)
		return code;
	code = driver->ctx_push(context);
	*pushed = code == MAM_CUDA_SUCCESS;
	return code;
}

static void leave(const struct mam_real_driver *driver, bool pushed)
{
	void *popped;

	if (pushed)
		driver->ctx_pop(&popped);
}

static bool is_end(int code)
{
	return code == MAM_CUDA_INVALID_CONTEXT || code == MAM_CUDA_CONTEXT_IS_DESTROYED;
}

enum health { SOUND, BROKEN, GONE };

/*
 * Called after a call failed with `code`. A sticky error is one that another call returns as well.
 */
static enum health health_of(const struct mam_real_driver *driver, void *context, int code)
{
	int min, greatest, again;
	bool pushed;

	again = enter(driver, context, &pushed);
	if (again != MAM_CUDA_SUCCESS || driver->ctx_priorities == NULL)
		return is_end(again) ? GONE : SOUND;
	again = driver->ctx_priorities(&min, &greatest);
	leave(driver, pushed);
	if (again == MAM_CUDA_SUCCESS)
		return SOUND;
	return is_end(again) ? GONE : again == code ? BROKEN : SOUND;
}

/*
 * Returns the state of the fence after a failure. DONE: no work of this context remains to wait
 * for.
 */
static enum mam_peer_fence_state judge(const struct mam_real_driver *driver, void *context,
				       uint64_t link, int code)
{
	enum health health = mam_capture_rejects(code) ? SOUND : health_of(driver, context, code);

	if (health == SOUND)
		return MAM_PEER_FENCE_LATER;
	if (link == 0)
		return MAM_PEER_FENCE_BROKEN;
	if (health == GONE)
		mam_peer_context_gone(context);
	return MAM_PEER_FENCE_DONE;
}

static enum mam_peer_fence_state judge_part(const struct mam_real_driver *driver,
					    struct mam_peer_fence_part *part, int code)
{
	enum mam_peer_fence_state state = judge(driver, part->context, part->link, code);

	if (code == INVALID_HANDLE || is_end(code))
		part->event = NULL; /* it was destroyed with an earlier context of that handle */
	if (state == MAM_PEER_FENCE_DONE)
		part->is_open = false;
	return state;
}

/*
 * Returns an array of all contexts: `few` if it is large enough; NULL if there is no host memory.
 */
static struct mam_peer *list_all(void *owner, struct mam_peer *few, unsigned int *count)
{
	struct mam_peer *list = few, *larger;
	unsigned int room = FEW;

	while ((*count = mam_peer_list(owner, list, room)) > room) {
		larger = realloc(list == few ? NULL : list, *count * sizeof(*list));
		if (larger == NULL) {
			if (list != few)
				free(list);
			return NULL;
		}
		list = larger;
		room = *count;
	}
	return list;
}

/* Step 1 of a record. Returns false if there is no host memory. */
static bool set_parts(struct mam_peer_fence *fence, void *owner)
{
	struct mam_peer few[FEW], *list;
	struct mam_peer_fence_part *parts = fence->parts;
	unsigned int count, old = 0;

	fence->ended = mam_peer_ended();
	list = list_all(owner, few, &count);
	if (list != NULL && count > fence->room) {
		parts = realloc(fence->parts, count * sizeof(*parts));
		if (parts != NULL) {
			fence->parts = parts;
			fence->room = count;
		}
	}
	if (list != NULL && parts != NULL) {
		for (unsigned int i = 0; i < count; i++) {
			void *event = NULL;

			while (old < fence->count && parts[old].link < list[i].link)
				old++;
			if (old < fence->count && parts[old].link == list[i].link)
				event = parts[old++].event;
			parts[i] = (struct mam_peer_fence_part){ list[i].context, list[i].link,
								 event, true };
		}
		fence->count = count;
	}
	if (list != few)
		free(list);
	return list != NULL && parts != NULL;
}

static enum mam_peer_fence_state record_part(const struct mam_real_driver *driver,
					     struct mam_peer_fence_part *part)
{
	bool pushed;
	int code;

	if (part->event == NULL) {
		code = enter(driver, part->context, &pushed);
		if (code == MAM_CUDA_SUCCESS) {
			code = driver->event_create(&part->event, TIMING_OFF);
			leave(driver, pushed);
		}
		if (code != MAM_CUDA_SUCCESS) {
			part->event = NULL;
			return judge_part(driver, part, code);
		}
	}
	code = driver->ctx_record_event(part->context, part->event);
	return code == MAM_CUDA_SUCCESS ? MAM_PEER_FENCE_DONE : judge_part(driver, part, code);
}

enum mam_peer_fence_state mam_peer_fence_record(struct mam_peer_fence *fence, void *owner)
{
	const struct mam_real_driver *driver = mam_real_driver();
	enum mam_peer_fence_state state = MAM_PEER_FENCE_DONE;
	bool pushed;
	int code;

	if (!set_parts(fence, owner))
		return MAM_PEER_FENCE_LATER;
	code = enter(driver, owner, &pushed);
	if (code != MAM_CUDA_SUCCESS)
		return judge(driver, owner, 0, code);
	for (unsigned int i = 0; i < fence->count && state == MAM_PEER_FENCE_DONE; i++)
		state = record_part(driver, &fence->parts[i]);
	leave(driver, pushed);
	return state;
}

/* Whether the work before an open part is done. */
static enum mam_peer_fence_state ask_part(const struct mam_real_driver *driver,
					  struct mam_peer_fence_part *part)
{
	enum mam_peer_fence_state state = MAM_PEER_FENCE_LATER;
	int code = part->event == NULL ? INVALID_HANDLE : driver->event_query(part->event);

	if (code == MAM_CUDA_SUCCESS) {
		part->is_open = false;
		return MAM_PEER_FENCE_DONE;
	}
	if (code != MAM_CUDA_NOT_READY)
		state = judge_part(driver, part, code);
	if (state == MAM_PEER_FENCE_LATER && part->event == NULL) {
		state = record_part(driver, part);
		if (state == MAM_PEER_FENCE_DONE && part->is_open)
			state = MAM_PEER_FENCE_LATER;
	}
	return state;
}

enum mam_peer_fence_state mam_peer_fence_ask(struct mam_peer_fence *fence)
{
	const struct mam_real_driver *driver = mam_real_driver();
	enum mam_peer_fence_state state = MAM_PEER_FENCE_DONE;
	bool some_ended = mam_peer_ended() != fence->ended, pushed;
	int code = enter(driver, fence->parts[0].context, &pushed);

	if (code != MAM_CUDA_SUCCESS)
		return judge(driver, fence->parts[0].context, 0, code);
	for (unsigned int i = 0; i < fence->count && state == MAM_PEER_FENCE_DONE; i++) {
		struct mam_peer_fence_part *part = &fence->parts[i];

		/* The events of a destroyed context cannot be queried. */
		if (some_ended && part->link != 0 && !mam_peer_is_linked(part->link))
			part->is_open = false;
		if (part->is_open)
			state = ask_part(driver, part);
	}
	leave(driver, pushed);
	return state;
}

bool mam_peer_fence_is_idle(void *context)
{
	const struct mam_real_driver *driver = mam_real_driver();
	void *event = NULL;
	bool idle = false, pushed;

	if (driver->event_destroy == NULL || enter(driver, context, &pushed) != MAM_CUDA_SUCCESS)
		return false;
	if (driver->event_create(&event, TIMING_OFF) == MAM_CUDA_SUCCESS) {
		idle = driver->ctx_record_event(context, event) == MAM_CUDA_SUCCESS &&
		       driver->event_query(event) == MAM_CUDA_SUCCESS;
		driver->event_destroy(event);
	}
	leave(driver, pushed);
	return idle;
}

enum mam_peer_fence_state mam_peer_fence_wait(void *owner)
{
	const struct mam_real_driver *driver = mam_real_driver();
	enum mam_peer_fence_state state = MAM_PEER_FENCE_DONE;
	struct mam_peer few[FEW], *list;
	unsigned int count;

	list = driver == NULL ? NULL : list_all(owner, few, &count);
	if (list == NULL)
		return MAM_PEER_FENCE_LATER;
	for (unsigned int i = 0; i < count && state == MAM_PEER_FENCE_DONE; i++) {
		bool pushed;
		int code = enter(driver, list[i].context, &pushed);

		if (code == MAM_CUDA_SUCCESS) {
			code = mam_capture_wait(false);
			leave(driver, pushed);
		}
		if (code != MAM_CUDA_SUCCESS)
			state = judge(driver, list[i].context, list[i].link, code);
	}
	if (list != few)
		free(list);
	return state;
}
