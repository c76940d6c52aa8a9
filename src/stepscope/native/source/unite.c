/* Intervals of groups as the instants that they cover. */
#include "native.h"

/* Overlapping, touching and empty intervals of a group become disjoint maximal ones.
 *
 * group   int32[n]; those of a group follow each other
 * starts  int64[n], ascending within a group
 * ends    int64[n]
 *
 * The united ones take the place of what was given. Returns their number. */
EXPORT(unite) i32 unite(i32 n, i32 *group, i64 *starts, i64 *ends)
{
	i32 last = -1;
	for (i32 i = 0; i < n; i++) {
		if (ends[i] <= starts[i])
			continue;
		if (last >= 0 && group[i] == group[last] && starts[i] <= ends[last]) {
			ends[last] = ends[i] > ends[last] ? ends[i] : ends[last];
			continue;
		}
		last++;
		group[last] = group[i];
		starts[last] = starts[i];
		ends[last] = ends[i];
	}
	return last + 1;
}
