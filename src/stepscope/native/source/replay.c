/* The times of a graph: every node starts as soon as all that it depends on allows. */
#include "native.h"

/* a * b / c, rounded down, for c below 2^62: a long division, bit after bit, since the product may need 128. */
static u64 share(u64 a, u64 b, u64 c)
{
	u64 found = 0, left = 0;
	for (i32 bit = 63; bit >= 0; bit--) {
		found *= 2;
		left *= 2;
		if (b >> bit & 1) {
			found += a / c;
			left += a % c;
		}
		found += left / c;
		left %= c;
	}
	return found;
}

/* Some nodes wait besides for others that come by a lag after all of their own edges. The lag grows in proportion to the
 * time since all were last together, at most `most` times.
 *
 * first        i64[n + 1], where each node's edges begin; nodes without any keep the end that is given
 * on, lag      i64[m], the node that each edge comes from, before the one that it leads to, and the edge's time
 * took         i64[n], how long each node takes
 * node         i64[k + 1], the nodes that wait, ascending, and n
 * part, edge   i64[k + 1] and i64[..], the edges that count as each one's own
 * late         i64[k], the lags, not negative
 * together     i64[k], the node whose end the time is since
 * apart        i64[k], that time when the lag was measured; 0 where the lag stays as it is
 * end          i64[n], the result */
EXPORT(replay) void replay(i32 n, const i64 *first, const i64 *on, const i64 *lag, const i64 *took, const i64 *node,
			   const i64 *part, const i64 *edge, const i64 *late, const i64 *together, const i64 *apart,
			   i64 most, i64 *end)
{
	for (i32 i = 0, k = 0; i < n; i++) {
		if (first[i] == first[i + 1])
			continue;
		i64 start = INT64_MIN;
		for (i64 e = first[i]; e < first[i + 1]; e++) {
			i64 come = end[on[e]] + lag[e];
			start = come > start ? come : start;
		}
		if (node[k] == i) {
			i64 ready = INT64_MIN;
			for (i64 p = part[k]; p < part[k + 1]; p++) {
				i64 come = end[on[edge[p]]] + lag[edge[p]];
				ready = come > ready ? come : ready;
			}
			i64 since = ready - end[together[k]], later = late[k];
			if (apart[k] && since / most >= apart[k])
				later *= most;
			else if (apart[k])
				later = since > 0 ? share(later, since, apart[k]) : 0;
			start = ready + later > start ? ready + later : start;
			k++;
		}
		end[i] = start + took[i];
	}
}
