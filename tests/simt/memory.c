/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.c - atomics, fences and plain accesses: the scheduler selects a lane, then the access
 * takes effect at once and is checked. Interleavings are sequentially consistent, unless loads may
 * return older values (race_past.h); the race checker finds errors that weaker orders would allow.
 */
#include "simt/hooks_core.h"
#include "simt/report.h"
#include "simt/step.h"

static uint64_t read_word(volatile void *where, unsigned int bytes)
{
	switch (bytes) {
	case 2: return *(volatile uint16_t *)where;
	case 4: return *(volatile uint32_t *)where;
	default: return *(volatile uint64_t *)where;
	}
}

static void write_word(volatile void *where, unsigned int bytes, uint64_t value)
{
	switch (bytes) {
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

/* Returns whether a load returns an older value than the newest one. */
static bool stale(struct simt_lane *lane, volatile void *where, unsigned int bytes, uint64_t *value,
		  enum simt_order order, enum simt_scope scope, const char *site)
{
	if (!simt_now->race_on || !simt_now->config.stale)
		return false;
	*value = read_word(where, bytes);
	if (!race_stale(simt_now->race, lane->number, where, bytes, value, order, scope, site,
			simt_random()))
		return false;
	if (simt_now->trace)
		simt_report_trace(lane, "load%u of 0x%llx, an older value", 8 * bytes,
				  (unsigned long long)*value);
	return true;
}

uint64_t simt_atomic(volatile void *where, unsigned int bytes, enum simt_op op, uint64_t operand,
		     uint64_t expected, enum simt_order order, enum simt_scope scope,
		     const char *site)
{
	struct simt_lane *lane = simt_here;
	const char *race;
	bool wrote;
	uint64_t old;

	if ((uintptr_t)where % bytes)
		simt_fail("an atomic at an address that is no multiple of its size", site);
	if (!lane)
		return apply(where, bytes, op, operand, expected, &wrote);
	simt_step(lane, site);
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
	simt_step(lane, site);
	if (simt_now->trace)
		simt_report_trace(lane, "%s %zu bytes", write ? "writes" : "reads", bytes);
	if (!simt_now->race_on)
		return;
	race = race_plain(simt_now->race, lane->number, where, bytes, write, site);
	if (race)
		simt_stop(SIMT_RACE, "%s", race);
}
