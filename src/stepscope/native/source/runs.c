/* Runs of short events at any level: how many entries each level has, and those of one level. */
#include "native.h"

#define NEVER 64

static i32 bits(i64 value)
{
	return value < 0 ? NEVER : value ? 64 - __builtin_clzll(value) : 0;
}

/* Neighbours of a lane are in one entry from the level on of which both are shorter than a bucket, and start in the
 * same one.
 *
 * n           how many events there are, and one more before them, the last of those that came before
 * ts, dur     int64[n + 1], by lane and start; durations are not negative
 * lane        uint16[n + 1]
 * joined      int64[NEVER + 1], which counts the events that join the one before them from each level on
 * reach       int64[n + 1], latest end of the lane's events up to each one; the first one's is given */
EXPORT(count_runs) void count_runs(i32 n, const i64 *ts, const i64 *dur, const u16 *lane, i64 *joined, i64 *reach)
{
	for (i32 i = 1; i <= n; i++) {
		i64 end = ts[i] + dur[i];
		if (lane[i] != lane[i - 1]) {
			joined[NEVER]++;
			reach[i] = end;
			continue;
		}
		i32 level = bits(ts[i] ^ ts[i - 1]), before = bits(dur[i - 1]), own = bits(dur[i]);
		level = before > level ? before : level;
		joined[own > level ? own : level]++;
		reach[i] = end > reach[i - 1] ? end : reach[i - 1];
	}
}

/* The entries of a level, as in `merge.c`, from events.
 *
 * n, level    how many events there are; buckets are 2^level ns wide
 * first       position of the first one
 * ts, dur     int64[n]
 * lane        uint16[n]
 * last        number of entries of earlier events, of which the last one may go on, less one
 * start, end, busy, count, longest, longest_ns, lanes  the entries
 *
 * Returns the number of entries, less one. */
EXPORT(runs) i32 runs(i32 n, i32 level, i32 first, const i64 *ts, const i64 *dur, const u16 *lane, i32 last,
		      i64 *start, i64 *end, i64 *busy, i32 *count, i32 *longest, i64 *longest_ns, u16 *lanes)
{
	i64 bucket = (i64)1 << level;
	for (i32 i = 0; i < n; i++) {
		i64 stop = ts[i] + dur[i];
		if (last >= 0 && dur[i] < bucket && longest_ns[last] < bucket && lane[i] == lanes[last]
		    && start[last] >> level == ts[i] >> level) {
			end[last] = stop > end[last] ? stop : end[last];
			busy[last] += dur[i];
			count[last]++;
			if (dur[i] > longest_ns[last]) {
				longest[last] = first + i;
				longest_ns[last] = dur[i];
			}
			continue;
		}
		last++;
		start[last] = ts[i];
		end[last] = stop;
		busy[last] = dur[i];
		count[last] = 1;
		longest[last] = first + i;
		longest_ns[last] = dur[i];
		lanes[last] = lane[i];
	}
	return last;
}
