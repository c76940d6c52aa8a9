/* The call trees of threads: the depth and the parent of each event, and its end within the parent. */
#include "native.h"

/* Events are given by thread, and outer ones first: by start, longest first among equal starts.
 *
 * lane     int32[n], the thread of each
 * ts, end  int64[n]; ends are clipped in place
 * depth    int32[n], of outermost events 0
 * parent   int32[n], position of the innermost event open at an event's start, of outermost events -1
 * open     int32[n], used meanwhile: the positions of the open events, whose ends never increase upwards */
EXPORT(nest) void nest(i32 n, const i32 *lane, const i64 *ts, i64 *end, i32 *depth, i32 *parent, i32 *open)
{
	i32 level = 0;
	for (i32 i = 0; i < n; i++) {
		i64 start = ts[i], stop = end[i];
		bool lasts = stop > start;
		if (level && lane[open[level - 1]] != lane[i])
			level = 0;

		/* An event without duration still belongs to one that ends where it is. */
		while (level && (end[open[level - 1]] < start || (lasts && end[open[level - 1]] == start)))
			level--;

		/* One that lies mostly after an open event's end follows it: that event ends here. */
		while (level && ts[open[level - 1]] < start
		       && end[open[level - 1]] - start < stop - end[open[level - 1]])
			end[open[--level]] = start;

		depth[i] = level;
		parent[i] = level ? open[level - 1] : -1;
		if (level && stop > end[parent[i]])
			end[i] = end[parent[i]];
		open[level++] = i;
	}
}
