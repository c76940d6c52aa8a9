/* Intervals cut where their lane changes, and where that does nothing of its own, where all lanes together change. */
#include "native.h"

#define EVER INT64_MAX

/* The last of ascending values, from `low` on and before `high`, that is not above a value; the first one is not. It is
 * looked for from a guess on, twice as far each time. */
static i32 last_of(const i64 *values, i32 low, i32 high, i32 guess, i64 value)
{
	i32 from = values[guess] <= value ? guess : low, to = values[guess] <= value ? high : guess;
	for (i32 step = 1; step < to - from; step *= 2) {
		if (values[from + step] > value) {
			to = from + step;
			break;
		}
		from += step;
	}
	while (to - from > 1) {
		i32 middle = from + (to - from) / 2;
		if (values[middle] <= value)
			from = middle;
		else
			to = middle;
	}
	return from;
}

struct parts {
	i32 number, first;
	bool kept;
	i64 *starts, *ends;
	i32 *interval;
	u8 *state;
	i32 last;
};

static void append(struct parts *parts, i32 interval, i64 start, i64 end, i32 state)
{
	if (parts->number > parts->first && parts->last == state) {
		if (parts->kept)
			parts->ends[parts->number - 1] = end;
		return;
	}
	parts->last = state;
	if (parts->kept) {
		parts->starts[parts->number] = start;
		parts->ends[parts->number] = end;
		parts->interval[parts->number] = interval;
		parts->state[parts->number] = state;
	}
	parts->number++;
}

/* Tiles are of all time. Parts of an interval are its lane's tiles; those of no state, and of states above that of
 * `delays`, give way to delays, and what is left of those of no state to the tiles of all lanes, whose states count
 * from `states` on. Neighbours that are equal are one.
 *
 * lane, from, to         int32[n] and int64[n], the intervals; those that do not last have no parts
 * behind                 int32[lanes], number of tiles up to the last one of each lane
 * at                     int32[lanes], used meanwhile
 * heads, state           int64[] and int8[], the tiles of the lanes, -1 for no state
 * delays, since, until   how many, and int64[], the delays, which ascend
 * delayed                their state
 * number, firsts, common how many, int64[] and int8[], the tiles of all lanes together
 * kept                   whether to keep the parts, or only to count them
 * starts, ends, interval, found  int64[], int64[], int32[] and uint8[], the parts
 *
 * Returns the number of parts. */
EXPORT(cut) i32 cut(i32 n, const i32 *lane, const i64 *from, const i64 *to, i32 lanes, const i32 *behind, i32 *at,
		    const i64 *heads, const int8_t *state, i32 delays, const i64 *since, const i64 *until, i32 delayed,
		    i32 number, const i64 *firsts, const int8_t *common, i32 states, i32 kept, i64 *starts, i64 *ends,
		    i32 *interval, u8 *found)
{
	struct parts parts = {0, 0, kept, starts, ends, interval, found, -1};
	for (i32 one = 0; one < lanes; one++)
		at[one] = one ? behind[one - 1] : 0;
	i32 delay = 0, together = 0;
	for (i32 i = 0; i < n; i++) {
		i32 mine = lane[i], tile;
		i64 now = from[i], end = to[i];
		if (now >= end)
			continue;
		parts.first = parts.number;
		at[mine] = tile = last_of(heads, mine ? behind[mine - 1] : 0, behind[mine], at[mine], now);
		if (delays) {
			delay = since[0] <= now ? last_of(since, 0, delays, delay < delays ? delay : 0, now) : 0;
			delay += until[delay] <= now;
		}
		for (; now < end; tile++) {
			i64 stop = tile + 1 < behind[mine] && heads[tile + 1] < end ? heads[tile + 1] : end;
			i32 own = state[tile];
			if (own >= 0 && own <= delayed) {
				append(&parts, i, now, stop, own);
				now = stop;
				continue;
			}
			while (now < stop) {
				while (delay < delays && until[delay] <= now)
					delay++;
				if (delay < delays && since[delay] <= now) {
					i64 free = until[delay] < stop ? until[delay] : stop;
					append(&parts, i, now, free, delayed);
					now = free;
					continue;
				}
				i64 free = delay < delays && since[delay] < stop ? since[delay] : stop;
				if (own >= 0) {
					append(&parts, i, now, free, own);
					now = free;
					continue;
				}
				together = last_of(firsts, 0, number, together, now);
				while (now < free) {
					i64 next = together + 1 < number ? firsts[together + 1] : EVER;
					next = next < free ? next : free;
					append(&parts, i, now, next, states + common[together]);
					now = next;
					together += now < free;
				}
			}
		}
	}
	return parts.number;
}
