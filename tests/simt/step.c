/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/step.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "simt/hooks_core.h"
#include "simt/report.h"
#include "simt/sched.h"
#include "simt/warp.h"

#define PATIENCE \
	1000 /* points of other lanes of its warp that a lane at mam_warp_active() waits for */

struct simt_lane *simt_here;
struct simt_world *simt_now;

void simt_count(struct simt_lane *lane, const char *site)
{
	struct simt_world *world = simt_now;

	lane->site = site;
	world->clock++;
	if (++world->steps > world->steps_max) {
		simt_report_livelock(world);
		simt_fiber_leave(&lane->fiber, &world->main);
	}
	if (lane->warp->at_active && ++lane->warp->patience > PATIENCE)
		simt_warp_release(world, lane->warp);
	if (world->trace)
		simt_report_trace(lane, "comes");
}

void simt_go(struct simt_lane *lane)
{
	struct simt_world *world = simt_now;
	struct simt_lane *next = world->attention ? NULL : simt_sched_next(world);

	if (next == lane)
		return;
	if (!next) {
		simt_fiber_switch(&lane->fiber, &world->main);
		return;
	}
	simt_here = next;
	simt_fiber_switch(&lane->fiber, &next->fiber);
}

struct simt_lane *simt_device(const char *what, const char *site)
{
	struct simt_lane *lane = simt_here;

	if (lane && lane->block->launch->host)
		simt_stop(SIMT_FAILED, "a host thread calls %s at %s: only lanes of a kernel can",
			  what, site);
	return lane;
}

void simt_stop(enum simt_verdict verdict, const char *format, ...)
{
	struct simt_lane *lane = simt_here;
	va_list arguments;

	va_start(arguments, format);
	if (!lane) {
		vfprintf(stderr, format, arguments);
		fputc('\n', stderr);
		abort();
	}
	simt_report_set(simt_now, verdict, format, arguments);
	va_end(arguments);
	simt_fiber_leave(&lane->fiber, &simt_now->main);
}

bool simt_inside(void)
{
	return simt_here;
}

void simt_fail(const char *what, const char *site)
{
	if (!simt_here)
		simt_stop(SIMT_FAILED, "%s, at %s, outside of any launch", what, site);
	simt_stop(SIMT_FAILED, "%s, at %s, %s", what, site, simt_report_name(simt_here));
}

bool simt_on_host(void)
{
	return simt_here && simt_here->block->launch->host;
}

uint64_t simt_random(void)
{
	static uint64_t outside;

	return simt_dice(simt_here ? &simt_now->dice : &outside);
}

uint64_t simt_clock(void)
{
	struct simt_lane *lane = simt_here;

	if (!lane)
		return 0;
	simt_step(lane,
		  "mam_clock()"); /* otherwise a loop that waits for the clock would never end */
	return simt_now->clock;
}

void simt_nanosleep(uint32_t ns, const char *site)
{
	struct simt_lane *lane = simt_here;

	if (!lane)
		return;
	simt_count(lane, site);
	simt_sched_sleep(simt_now, lane, ns);
	simt_warp_idle(simt_now, lane->warp);
	simt_go(lane);
}

void simt_host_yield(const char *site)
{
	if (!simt_here)
		return;
	simt_now->sched.yields = true;
	simt_step(simt_here, site);
}
