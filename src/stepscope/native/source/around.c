/* How many members are around each event of a tree. */
#include "native.h"

/* parent  int32[n], position of the event around each one, always before it, or -1
 * member  uint8[n], 1 for those that count
 * most    the largest number that is told apart
 * around  uint16[n] */
EXPORT(around) void around(i32 n, const i32 *parent, const u8 *member, i32 most, u16 *around)
{
	for (i32 i = 0; i < n; i++) {
		i32 number = parent[i] < 0 ? 0 : around[parent[i]] + member[parent[i]];
		around[i] = number < most ? number : most;
	}
}
