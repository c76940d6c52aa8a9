/* Events as the times of groups: what kind of time each is, tables tell from its category, its name and its thread. */
#include "native.h"

#define CLASSES 8

/* Events of some rows of a recording, which may be given in several parts; a group's interval stays open between them.
 *
 * category        int8[n]; events of a negative one are left out
 * ts, dur         int64[n]; events that do not last are left out
 * name, track     int32[n]
 * kinds           int8[categories * CLASSES], the kind by category and class of the name, or -1
 * class           uint8[names], below CLASSES; names behind them are of class 0
 * place           int32[tracks], which thread each is, or -1; so is one behind them. Groups are kinds of threads,
 * width           of which each has so many,
 * everywhere      but one kind is the same group on any thread, the last of `groups`
 * since, until    int64[groups], the open intervals; of equal edges where none is
 * back            uint8[groups], set where an event of a group starts before an earlier one
 * group, starts, ends  int32[n] and int64[n], the united intervals in the order in which they end
 *
 * Returns their number. */
EXPORT(states) i32 states(i32 n, const int8_t *category, const i64 *ts, const i64 *dur, const i32 *name,
			  const i32 *track, const int8_t *kinds, u32 names, const u8 *class, u32 tracks, const i32 *place,
			  i32 width, i32 everywhere, i32 groups, i64 *since, i64 *until, u8 *back, i32 *group,
			  i64 *starts, i64 *ends)
{
	i32 found = 0;
	for (i32 i = 0; i < n; i++) {
		if (category[i] < 0 || dur[i] <= 0)
			continue;
		i32 kind = kinds[category[i] * CLASSES + ((u32)name[i] < names ? class[name[i]] : 0)];
		i32 thread = (u32)track[i] < tracks ? place[track[i]] : -1;
		if (kind < 0 || (kind != everywhere && thread < 0))
			continue;
		i32 mine = kind == everywhere ? groups - 1 : thread * width + kind;
		i64 start = ts[i], end = start + dur[i];
		if (start < since[mine])
			back[mine] = 1;
		else if (start <= until[mine]) {
			until[mine] = end > until[mine] ? end : until[mine];
			continue;
		}
		if (until[mine] > since[mine]) {
			group[found] = mine;
			starts[found] = since[mine];
			ends[found++] = until[mine];
		}
		since[mine] = start;
		until[mine] = end;
	}
	return found;
}
