/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.c - atomics, fences and plain accesses: the scheduler selects a lane, then the access
 * takes effect at once and is checked. Interleavings are sequentially consistent, unless loads may
 * return older values (race_past.h); the race checker finds errors that weaker orders would allow.
 */
#include "simt/bound.h"
#include "simt/hooks_core.h"
#include "simt/report.h"
#include "simt/sched.h"
#include "simt/step.h"

#define FRESH 3 /* of 4 loads, this number return the newest value at once */

static uint64_t read_word(volatile void *where, unsigned int bytes)
{
	switch (bytes) {
	case 1: return *(volatile uint8_t *)where;
	case 2: return *(volatile uint16_t *)where;
	case 4: return *(volatile uint32_t *)where;
	default: return *(volatile uint64_t *)where;
	}
}

static void write_word(volatile void *where, unsigned int bytes, uint64_t value)
{
	switch (bytes) {
	case 1: *(volatile uint8_t *)where = (uint8_t)value; break;
	case 2: *(volatile uint16_t *)where = (uint16_t)value; break;
	case 4: *(volatile uint32_t *)where = (uint32_t)value; break;
	default: *(volatile uint64_t *)where = value;
	}
}

/* Returns the previous value, also for a store. */
static uint64_t apply(volatile void *where, unsigned int bytes, enum simt_op op, uint64_t operand,
		      uint64_t expected, bool *wrote)
{
	uint64_t old = read_word(where, bytes);
	uint64_t next = operand;

	*wrote = op != SIMT_LOAD && (op != SIMT_CAS || old == expected);
	if (op == SIMT_OR)
		next = old | operand;
	else if (op == SIMT_AND)
		next = old & operand;
	else if (op == SIMT_ADD)
		next = old + operand;
	if (*wrote)
		write_word(where, bytes, next);
	return old;
}

static void trace(const struct simt_lane *lane, unsigned int bytes, enum simt_op op,
		  uint64_t operand, uint64_t old, bool wrote)
{
	static const char *const names[] = {
		[SIMT_STORE] = "store", [SIMT_OR] = "or",     [SIMT_AND] = "and",
		[SIMT_ADD] = "add",     [SIMT_XCHG] = "xchg", [SIMT_CAS] = "cas",
	};

	if (op == SIMT_LOAD)
		simt_report_trace(lane, "load%u of 0x%llx", 8 * bytes, (unsigned long long)old);
	else
		simt_report_trace(lane, "%s%u with 0x%llx, which found 0x%llx%s", names[op],
				  8 * bytes, (unsigned long long)operand, (unsigned long long)old,
				  wrote ? "" : ": in vain");
}

/* Which of the older values a load returns; 0: the newest one. */
static uint32_t which_of(uint32_t older)
{
	uint64_t random;

	if (simt_now->config.policy == SIMT_BY_BOUND)
		return simt_bound_choose(simt_now, older);
	random = simt_random();
	return older == 0 || random % 4 < FRESH ? 0 : 1 + (uint32_t)(random / 4 % older);
}

/* Returns whether a load returns an older value than the newest one. */
static bool stale(struct simt_lane *lane, volatile void *where, unsigned int bytes, uint64_t *value,
		  enum simt_order order, enum simt_scope scope, const char *site)
{
	uint32_t which;

	if (!simt_now->race_on || !simt_now->config.stale)
		return false;
	*value = read_word(where, bytes);
	which = which_of(race_older(simt_now->race, lane->number, where, bytes, *value));
	race_stale(simt_now->race, lane->number, where, bytes, value, order, scope, site, which);
	if (which != 0 && simt_now->trace)
		simt_report_trace(lane, "load%u of 0x%llx, an older value", 8 * bytes,
				  (unsigned long long)*value);
	return which != 0;
}

/* The access itself, after the scheduling point. */
static uint64_t perform(struct simt_lane *lane, volatile void *where, unsigned int bytes,
			enum simt_op op, uint64_t operand, uint64_t expected, enum simt_order order,
			enum simt_scope scope, const char *site)
{
	const char *race;
	bool wrote;
	uint64_t old;

	if (op == SIMT_LOAD && stale(lane, where, bytes, &old, order, scope, site))
		return old;
	old = apply(where, bytes, op, operand, expected, &wrote);
	if (simt_now->trace)
		trace(lane, bytes, op, operand, old, wrote);
	if (simt_now->race_on) {
		race = race_atomic(simt_now->race, lane->number, where, bytes, op, wrote, order,
				   scope, site);
		if (race)
			simt_stop(SIMT_RACE, "%s", race);
		if (simt_now->config.stale && op != SIMT_LOAD)
			race_keep(simt_now->race, lane->number, where, bytes, old,
				  read_word(where, bytes), wrote);
	}
	return old;
}

uint64_t simt_atomic(volatile void *where, unsigned int bytes, enum simt_op op, uint64_t operand,
		     uint64_t expected, enum simt_order order, enum simt_scope scope,
		     const char *site)
{
	struct simt_lane *lane = simt_here;
	bool wrote;

	if ((uintptr_t)where % bytes)
		simt_fail("an atomic at an address that is no multiple of its size", site);
	if (!lane)
		return apply(where, bytes, op, operand, expected, &wrote);
	simt_step(lane, site);
	return perform(lane, where, bytes, op, operand, expected, order, scope, site);
}

uint64_t simt_host_atomic(volatile void *where, unsigned int bytes, enum simt_op op,
			  uint64_t operand, uint64_t expected, enum simt_order order,
			  enum simt_order otherwise, const char *site)
{
	struct simt_lane *lane = simt_here;
	uint64_t old;

	simt_step(lane, site);
	if (op == SIMT_CAS && read_word(where, bytes) != expected)
		order = otherwise;
	old = perform(lane, where, bytes, op, operand, expected, order, MAM_AT_SYSTEM, site);
	if (order == MAM_SEQ_CST && op != SIMT_LOAD && simt_now->race_on)
		race_fence(simt_now->race, lane->number, order, MAM_AT_SYSTEM);
	return old;
}

void simt_fence(enum simt_order order, enum simt_scope scope, const char *site)
{
	struct simt_lane *lane = simt_here;

	if (!lane)
		return;
	simt_step(lane, site);
	if (simt_now->race_on)
		race_fence(simt_now->race, lane->number, order, scope);
}

void simt_plain(const volatile void *where, size_t bytes, bool write, const char *site)
{
	struct simt_lane *lane = simt_here;
	const char *race;

	if (!lane || simt_fiber_contains(&lane->fiber, where))
		return;
	if (simt_now->config.atomics_only)
		lane->site = site;
	else
		simt_step(lane, site);
	if (simt_now->trace)
		simt_report_trace(lane, "%s %zu bytes", write ? "writes" : "reads", bytes);
	if (!simt_now->race_on)
		return;
	race = race_plain(simt_now->race, lane->number, where, bytes, write, site);
	if (race)
		simt_stop(SIMT_RACE, "%s", race);
}
