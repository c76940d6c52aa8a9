/* Numbers for distinct texts: in the order in which they first occur. */
#ifndef STEPSCOPE_INTERN_H
#define STEPSCOPE_INTERN_H

#include "native.h"

/* Longest search for a place in the table. With a secret seed nobody can write texts that need more than some. */
enum { MOST_PROBES = 64 };

/* Texts of a batch.
 *
 * size    how many there are, at most `most`, of which half fit the table
 * start, length, hash  of each text
 * table   int32[2 * most], most a power of two: the number of the text whose hash leads there, plus one; else 0 */
struct interned {
	i32 size, most;
	const u8 **start;
	i32 *length;
	u64 *hash;
	i32 *table;
};

static inline u64 load(const u8 *at)
{
	u64 word;
	__builtin_memcpy(&word, at, sizeof word);
	return word;
}

static inline u64 mix(u64 hash, u64 word)
{
	hash = (hash ^ word) * 0x9fb21c651e98df25ull;
	return hash ^ hash >> 32;
}

static inline u64 hash_of(const u8 *text, i32 length, u64 seed)
{
	u64 hash = mix(seed, (u64)length);
	for (; length > 8; length -= 8, text += 8)
		hash = mix(hash, load(text));
	/* Eight bytes can be read behind any text; those behind its end do not count. */
	u64 last = length ? load(text) & ~0ull >> (64 - 8 * length) : 0;
	return mix(mix(hash, last), seed);
}

static inline bool same(const u8 *one, const u8 *other, i32 length)
{
	for (; length > 8; length -= 8, one += 8, other += 8)
		if (load(one) != load(other))
			return false;
	return !length || !((load(one) ^ load(other)) & ~0ull >> (64 - 8 * length));
}

/* The number of a text; -1 if there is no room for it. */
static inline i32 intern(struct interned *in, const u8 *text, i32 length, u64 seed)
{
	u64 hash = hash_of(text, length, seed);
	u32 mask = 2 * in->most - 1;
	u32 place = (u32)(hash >> 20) & mask;
	for (i32 probe = 0; probe < MOST_PROBES; probe++, place = (place + 1) & mask) {
		i32 number = in->table[place] - 1;
		if (number < 0) {
			if (in->size == in->most)
				return -1;
			in->start[in->size] = text;
			in->length[in->size] = length;
			in->hash[in->size] = hash;
			in->table[place] = ++in->size;
			return in->size - 1;
		}
		if (in->hash[number] == hash && in->length[number] == length && same(in->start[number], text, length))
			return number;
	}
	return -1;
}

#endif
