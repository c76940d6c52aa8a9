/* The time of each lane divided among its layers: each instant goes to the first layer that covers it. */
#include "native.h"

/* Layers are sets of intervals that ascend and neither overlap nor touch.
 *
 * first         int32[lanes * layers + 1], where the intervals of each layer of each lane begin; `at` is a copy
 * starts, ends  int64[first[lanes * layers]]
 * lo, hi        the time that is divided
 * behind        int32[lanes], number of parts up to the last one of each lane
 * heads         int64[2 * first[lanes * layers] + lanes], start of each part; it ends where the lane's next one starts
 * labels        int32[2 * first[lanes * layers] + lanes], its layer, or `layers` where none covers
 *
 * Neighbours differ in layer. */
EXPORT(divide) void divide(i32 lanes, i32 layers, const i32 *first, i32 *at, const i64 *starts, const i64 *ends,
                           i64 lo, i64 hi, i32 *behind, i64 *heads, i32 *labels)
{
	i32 parts = 0;
	for (i32 lane = 0; lane < lanes; lane++, first += layers, at += layers) {
		for (i64 now = lo; now < hi; parts++) {
			i64 until = hi;
			i32 layer = 0;
			for (; layer < layers; layer++) {
				/* The first interval that has not ended. */
				i32 one = at[layer], end = first[layer + 1];
				while (one < end && ends[one] <= now)
					one++;
				at[layer] = one;
				if (one == end)
					continue;
				if (starts[one] <= now) {
					until = ends[one] < until ? ends[one] : until;
					break;
				}
				/* A layer before the one that covers takes over where it starts. */
				until = starts[one] < until ? starts[one] : until;
			}
			heads[parts] = now;
			labels[parts] = layer;
			now = until;
		}
		behind[lane] = parts;
	}
}
