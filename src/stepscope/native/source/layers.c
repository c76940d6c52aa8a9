/* The layers of a thread: the rows in which its events are drawn, and the events row by row. */
#include "native.h"

#define LAYERS 4
#define ROWS 512

/* Adds one to a layer's number of the four that 64 bits hold, at most ROWS - 1. */
static u64 more(u64 numbers, i32 layer)
{
	i32 bits = 16 * layer;
	return layer < 0 || (numbers >> bits & 0xffff) == ROWS - 1 ? numbers : numbers + ((u64)1 << bits);
}

/* Each event is in one layer, or in none, and there in the row of how many events of its layer are around it.
 *
 * id      int32[n]; the events by start, outer ones first
 * parent  int32[n], id of the event around each one, which is the one before it or around that; -1 for none
 * layer   int8[n], below LAYERS, or -1 for none
 * around  uint64[n], used meanwhile: how many of each layer are around each
 * number  int32[LAYERS * ROWS], how many events each row of each layer has
 *
 * Positions of events by layer, row and start take the place of the ids. Returns 0, or -1 if the event around one is
 * not where it is looked for. */
EXPORT(layers) i32 layers(i32 n, i32 *id, i32 *parent, const int8_t *layer, u64 *around, i32 *number)
{
	for (i32 row = 0; row < LAYERS * ROWS; row++)
		number[row] = 0;
	for (i32 i = 0; i < n; i++) {
		i32 outer = -1;
		if (parent[i] >= 0) {
			for (outer = i - 1; outer >= 0 && id[outer] != parent[i];)
				outer = parent[outer];
			if (outer < 0)
				return -1;
		}
		/* From here on it is a position. */
		parent[i] = outer;
		around[i] = outer < 0 ? 0 : more(around[outer], layer[outer]);
		if (layer[i] >= 0)
			number[layer[i] * ROWS + (around[i] >> 16 * layer[i] & 0xffff)]++;
	}
	i32 next[LAYERS * ROWS], total = 0;
	for (i32 row = 0; row < LAYERS * ROWS; row++) {
		next[row] = total;
		total += number[row];
	}
	for (i32 i = 0; i < n; i++)
		if (layer[i] >= 0)
			id[next[layer[i] * ROWS + (around[i] >> 16 * layer[i] & 0xffff)]++] = i;
	return 0;
}
