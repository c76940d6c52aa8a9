/* Runs of short neighbours: what a track draws where its events are shorter than a bucket of time. */
#include "native.h"

/* Neighbours of a lane that are each shorter than a bucket and start in the same one become one entry.
 *
 * level       buckets are 2^level ns wide
 * start       int64[n], ascending within a lane
 * end         int64[n], latest end of what is in the entry
 * busy        int64[n], sum of durations
 * count       int32[n], how many events it has
 * longest     int32[n], the longest of them, of equals the first
 * longest_ns  int64[n], its duration
 * lane        uint16[n], ascending
 *
 * The entries take the place of what was given. Returns their number. */
EXPORT(merge) i32 merge(i32 n, i32 level, i64 *start, i64 *end, i64 *busy, i32 *count, i32 *longest,
                        i64 *longest_ns, u16 *lane)
{
	i64 bucket = (i64)1 << level;
	i32 last = -1;
	for (i32 i = 0; i < n; i++) {
		if (last >= 0 && longest_ns[i] < bucket && longest_ns[last] < bucket && lane[i] == lane[last]
		    && start[i] >> level == start[last] >> level) {
			end[last] = end[i] > end[last] ? end[i] : end[last];
			busy[last] += busy[i];
			count[last] += count[i];
			if (longest_ns[i] > longest_ns[last]) {
				longest[last] = longest[i];
				longest_ns[last] = longest_ns[i];
			}
			continue;
		}
		last++;
		start[last] = start[i];
		end[last] = end[i];
		busy[last] = busy[i];
		count[last] = count[i];
		longest[last] = longest[i];
		longest_ns[last] = longest_ns[i];
		lane[last] = lane[i];
	}
	return last + 1;
}
