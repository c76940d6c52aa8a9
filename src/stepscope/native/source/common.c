/* What several lanes do together, each of which does one thing at a time. */
#include "native.h"

#define STATES 16
#define EVER INT64_MAX

/* The lanes whose tiles end, by when they do: a heap. */
struct ending {
	i32 size, *lane;
	i64 *at;
};

static void sink(struct ending heap, i32 here, i32 lane, i64 at)
{
	for (;;) {
		i32 child = 2 * here + 1;
		if (child + 1 < heap.size && heap.at[child + 1] < heap.at[child])
			child++;
		if (child >= heap.size || heap.at[child] >= at)
			break;
		heap.lane[here] = heap.lane[child];
		heap.at[here] = heap.at[child];
		here = child;
	}
	heap.lane[here] = lane;
	heap.at[here] = at;
}

struct tiles {
	i32 number;
	i64 *starts;
	int8_t *states;
};

static void append(struct tiles *tiles, i64 start, i32 state)
{
	if (tiles->number && tiles->states[tiles->number - 1] == state)
		return;
	tiles->starts[tiles->number] = start;
	tiles->states[tiles->number++] = state;
}

/* A time in which no lane is in a state, in and outside of [lo, hi). */
static void append_idle(struct tiles *tiles, i64 start, i64 end, i64 lo, i64 hi, i32 inside)
{
	append(tiles, start, start >= lo && start < hi ? inside : inside + 1);
	if (start < lo && lo < end)
		append(tiles, lo, inside);
	if (start < hi && hi < end)
		append(tiles, hi, inside + 1);
}

/* The tiles of each lane, and those of all lanes together, are of all time.
 *
 * lanes          how many; the last one stands for all others at once
 * main           one of them
 * behind         int32[lanes], number of tiles up to the last one of each
 * starts, state  int64[] and int8[], the tiles; a state is below STATES, or -1 for none
 * states         the number of states; also what stands for a time between two times of one lane, `main` not among
 *                them, in which no lane is in a state; the next number stands for others of these within [lo, hi),
 *                and the one behind it for what is outside
 * at, lane, since, ends  int32[lanes], int32[lanes], int64[lanes] and int64[lanes], used meanwhile
 * heads, found   int64[] and int8[], the lowest state that any lane is in; up to four tiles more than there are
 *
 * Returns the number of tiles, of which neighbours differ. */
EXPORT(common) i32 common(i32 lanes, i32 main, const i32 *behind, const i64 *starts, const int8_t *state, i32 states,
			  i64 lo, i64 hi, i32 *at, i32 *lane, i64 *since, i64 *ends, i64 *heads, int8_t *found)
{
	struct tiles tiles = {0, heads, found};
	struct ending heap = {0, lane, ends};
	i32 count[STATES] = {0}, busy = 0, all = lanes - 1;
	for (i32 one = lanes - 1; one >= 0; one--) {
		at[one] = one ? behind[one - 1] : 0;
		since[one] = starts[at[one]];
		if (state[at[one]] >= 0)
			count[state[at[one]]]++, busy++;
		if (at[one] + 1 < behind[one]) {
			/* From the end of an array on, so that what is there already sinks. */
			i32 here = heap.size++;
			i64 end = starts[at[one] + 1];
			for (; here && ends[(here - 1) / 2] > end; here = (here - 1) / 2) {
				lane[here] = lane[(here - 1) / 2];
				ends[here] = ends[(here - 1) / 2];
			}
			lane[here] = one;
			ends[here] = end;
		}
	}
	i64 idle = starts[0];      /* since when no lane is in a state */
	bool ended = false;        /* whether a lane but `main` ended then, */
	bool all_ended = false;    /* and whether the one that stands for all did */
	bool inner = false;        /* whether something came before */
	if (busy) {
		i32 lowest = 0;
		while (!count[lowest])
			lowest++;
		append(&tiles, starts[0], lowest);
	}
	while (heap.size) {
		i64 now = ends[0];
		bool was_idle = !busy, began = false, all_began = false, both = false;
		bool ends_now = false, all_end_now = false;
		while (heap.size && ends[0] == now) {
			i32 one = lane[0], before = state[at[one]], after = state[++at[one]];
			if (before >= 0)
				count[before]--, busy--;
			else if (one == all)
				all_began = true;
			else if (one != main) {
				began = true;
				both |= since[one] == idle;
			}
			if (after >= 0)
				count[after]++, busy++;
			else {
				since[one] = now;
				all_end_now |= one == all;
				ends_now |= one != all && one != main;
			}
			if (at[one] + 1 < behind[one])
				sink(heap, 0, one, starts[at[one] + 1]);
			else if (--heap.size)
				sink(heap, 0, lane[heap.size], ends[heap.size]);
		}
		if (was_idle && busy) {
			bool between = both || (began && all_ended) || (ended && all_began)
				       || (lanes > 2 && all_ended && all_began);
			if (inner && between)
				append(&tiles, idle, states);
			else
				append_idle(&tiles, idle, now, lo, hi, states + 1);
		}
		if (busy) {
			i32 lowest = 0;
			while (!count[lowest])
				lowest++;
			append(&tiles, now, lowest);
			inner = true;
		} else if (!was_idle) {
			idle = now;
			ended = ends_now;
			all_ended = all_end_now;
		}
	}
	if (!busy)
		append_idle(&tiles, idle, EVER, lo, hi, states + 1);
	return tiles.number;
}
