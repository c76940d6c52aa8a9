/* The objects of a JSON list as columns: a row for each object, and what does not parse as text. */
#include "intern.h"
#include "numbers.h"
#include "text.h"

enum kind { TEXT, INTEGER, THOUSANDTHS };

/* Members that objects may have; those with `inner` stand in the object that is the member `inner_key` of theirs. */
struct member {
	const u8 *key;
	i32 length;
	i32 inner;
	i32 kind;
	i32 column; /* of the texts, or of the numbers */
};

/* A combination of texts, which is numbered as one. */
struct combination {
	i32 size;
	const i32 *texts; /* columns of texts */
	i32 *numbers;     /* int32[rows], of each row */
	struct interned distinct;
	i32 *tuples; /* int32[most, size], texts of each distinct combination, -1 where there is none */
};

/* A number that is not written plainly: left to the caller. */
struct odd {
	i32 row, column;
	const u8 *start;
	i32 length;
};

struct scan {
	/* What is given. The text is followed by 64 bytes that may be overwritten. */
	const u8 *text;
	i32 size;
	i32 ended;    /* nothing follows the text */
	i32 closed;   /* an object begins behind the text, if nothing of it is cut */
	i32 patience; /* bytes that may be read in vain while looking for the end of something broken */
	i32 most_rows, most_odd;
	const struct member *members;
	i32 member_count;
	const u8 *inner_key;
	i32 inner_key_length;
	i32 text_count, number_count;
	struct combination *combinations;
	i32 combination_count;
	u32 seed_low, seed_high;

	/* What is found. */
	i32 at;    /* how much of the text was read; more room is needed for the rest if it is not `size` */
	i32 cut;   /* whether the rest is one object that does not end in the text */
	i32 rows, odds;
	i32 others; /* objects without the first member, which are no rows, but for those behind something broken */
	u8 *is_broken;
	i32 *start, *end;
	i64 *numbers;      /* int64[number_count, most_rows]; ABSENT where there is none */
	i32 *inner_offset; /* int32[most_rows + 1], ends of the inner objects' texts */
	u8 *inner_text;
	struct odd *odd;
	struct interned words;
	i32 *texts; /* int32[text_count], of the row that is being read */
};

static const i64 ABSENT = INT64_MIN;

/* Keys are looked up by their length, first and last bytes: 0 for none, else the member plus one. */
enum { KEYS = 256 };
static u8 keys[2][KEYS];

static inline u32 key_place(const u8 *key, i32 length)
{
	u32 first = key[0] | key[length / 2] << 8, last = key[length - 1];
	return (first * 0x9e3779b1u ^ last * 0x85ebca6bu ^ (u32)length * 0xc2b2ae35u) >> 24;
}

static void learn_keys(const struct scan *s)
{
	__builtin_memset(keys, 0, sizeof keys);
	for (i32 i = 0; i < s->member_count; i++) {
		const struct member *member = &s->members[i];
		u32 place = key_place(member->key, member->length);
		while (keys[member->inner][place])
			place = (place + 1) % KEYS;
		keys[member->inner][place] = i + 1;
	}
}

static inline const struct member *member_of(const struct scan *s, i32 inner, const u8 *key, i32 length)
{
	if (!length)
		return NULL;
	for (u32 place = key_place(key, length); keys[inner][place]; place = (place + 1) % KEYS) {
		const struct member *member = &s->members[keys[inner][place] - 1];
		if (member->length == length && same(member->key, key, length))
			return member;
	}
	return NULL;
}

/* The row is given up since there is no room for what it holds. */
static bool is_full;

static void keep(struct scan *s, const struct member *member, const u8 *value, const u8 *end)
{
	if (member->kind == TEXT) {
		i32 *text = &s->texts[member->column];
		if (*text < 0 && *value != 'n') {
			*text = intern(&s->words, value, (i32)(end - value), (u64)s->seed_high << 32 | s->seed_low);
			is_full |= *text < 0;
		}
		return;
	}
	i64 *number = &s->numbers[member->column * s->most_rows + s->rows];
	if (*number != ABSENT || *value == 'n')
		return; /* of several members with the same name, the first counts */
	if (member->kind == INTEGER ? plain_integer(value, end, number) : plain_thousandths(value, end, number))
		return;
	if (s->odds == s->most_odd) {
		is_full = true;
		return;
	}
	s->odd[s->odds++] = (struct odd){s->rows, member->column, value, (i32)(end - value)};
	*number = ABSENT + 1;
}

/* The inner object or value of a row: its text, beside its members. */
struct inner {
	const u8 *start, *end;
};

static const u8 *read_members(struct scan *s, i32 inner, const u8 *at, struct inner *found);

/* A member's value. */
static const u8 *read_value(struct scan *s, i32 inner, const u8 *key, i32 length, const u8 *at, struct inner *found)
{
	if (!inner && length == s->inner_key_length && !found->start && same(s->inner_key, key, length)) {
		const u8 *end = *at == '{' ? read_members(s, 1, at, found) : skip_value(at);
		*found = (struct inner){at, end};
		return end;
	}
	const u8 *end = skip_value(at);
	const struct member *member = end ? member_of(s, inner, key, length) : NULL;
	if (member)
		keep(s, member, at, end);
	return end;
}

/* The members of an object, from its brace on. */
static const u8 *read_members(struct scan *s, i32 inner, const u8 *at, struct inner *found)
{
	at = skip_space(at + 1);
	if (*at == '}')
		return at + 1;
	for (;;) {
		if (*at != '"')
			return broken(at);
		const u8 *key = at + 1;
		if (!(at = skip_string(key)))
			return NULL;
		i32 length = (i32)(at - 1 - key);
		at = skip_space(at);
		if (*at != ':')
			return broken(at);
		if (!(at = read_value(s, inner, key, length, skip_space(at + 1), found)))
			return NULL;
		at = skip_space(at);
		if (*at == '}')
			return at + 1;
		if (*at != ',')
			return broken(at);
		at = skip_space(at + 1);
	}
}

/* Whether an inner value is worth keeping: neither null nor an object without members. */
static bool says_something(struct inner found)
{
	if (!found.start || *found.start == 'n')
		return false;
	return *found.start != '{' || *skip_space(found.start + 1) != '}';
}

/* Numbers the combinations of a row; false if there is no room. */
static bool combine(struct scan *s)
{
	for (i32 i = 0; i < s->combination_count; i++) {
		struct combination *one = &s->combinations[i];
		/* It is put where it stays if it is new. */
		i32 *tuple = one->tuples + one->distinct.size * one->size;
		for (i32 j = 0; j < one->size; j++)
			tuple[j] = s->texts[one->texts[j]];
		i32 number = intern(&one->distinct, (const u8 *)tuple, one->size * (i32)sizeof(i32),
				    (u64)s->seed_high << 32 | s->seed_low);
		if (number < 0)
			return false;
		one->numbers[s->rows] = number;
	}
	return true;
}

/* A row that has no text of an inner object so far. */
static void add_row(struct scan *s, const u8 *at, const u8 *end, bool is_broken)
{
	s->is_broken[s->rows] = is_broken;
	s->start[s->rows] = (i32)(at - s->text);
	s->end[s->rows] = (i32)(end - s->text);
	s->inner_offset[s->rows + 1] = s->inner_offset[s->rows];
	s->rows++;
}

/* Where an object may begin between `at` and `end`: at a brace that follows another one; else NULL. */
static const u8 *next_start(const u8 *at, const u8 *end)
{
	const v128_t brace = wasm_i8x16_splat('}');
	while (at < end) {
		u32 mask = wasm_i8x16_bitmask(wasm_i8x16_eq(wasm_v128_load(at), brace));
		if (!mask) {
			at += 16;
			continue;
		}
		at = skip_separators(at + __builtin_ctz(mask) + 1);
		if (*at == '{' && at < end)
			return at;
	}
	return NULL;
}

/* Longest token: something broken so short before the end may only be cut. */
enum { TOKEN = 12 };

/* Reads the object at `at` into the next row; NULL if it is broken or there is no room.
 *
 * One without the first member is no row, but is broken if a list of objects is in it: they may be what is looked for. */
static const u8 *read_object(struct scan *s, const u8 *at)
{
	struct inner found = {NULL, NULL};
	for (i32 i = 0; i < s->text_count; i++)
		s->texts[i] = -1;
	for (i32 i = 0; i < s->number_count; i++)
		s->numbers[i * s->most_rows + s->rows] = ABSENT;
	i32 odds = s->odds;
	is_full = false;
	const u8 *end = *at == '{' ? read_members(s, 0, at, &found) : broken(at);
	if (!end || is_full) {
		s->odds = odds;
		return end;
	}
	if (s->texts[0] < 0) {
		s->odds = odds;
		if (next_start(at, end))
			return broken(at);
		/* Behind something broken it may belong to that. */
		s->others += !s->rows || !s->is_broken[s->rows - 1];
		return end;
	}
	if (!combine(s)) {
		s->odds = odds;
		is_full = true;
		return end;
	}
	add_row(s, at, end, false);
	if (says_something(found)) {
		i32 *offset = &s->inner_offset[s->rows];
		__builtin_memcpy(s->inner_text + *offset, found.start, found.end - found.start);
		*offset += (i32)(found.end - found.start);
	}
	return end;
}

static void forget(struct interned *in)
{
	in->size = 0;
	__builtin_memset(in->table, 0, 2 * in->most * sizeof(i32));
}

/* Reads objects until the text ends or there is no room for another row.
 *
 * What does not parse is one row, up to where the next object may begin. To find out may take reading far: in noise
 * every object looks as if it held all that follows. After `patience` bytes that were read in vain an object must end
 * before another one may begin. */
EXPORT(scan) void scan(struct scan *s)
{
	const u8 *end = s->text + s->size;
	__builtin_memset((u8 *)end, 0, 64);
	learn_keys(s);
	forget(&s->words);
	for (i32 i = 0; i < s->combination_count; i++)
		forget(&s->combinations[i].distinct);
	s->rows = s->odds = s->others = s->cut = s->inner_offset[0] = 0;

	const u8 *at = skip_separators(s->text);
	while (at < end && s->rows < s->most_rows) {
		const u8 *next = s->patience < 0 ? next_start(at, end) : NULL;
		bool is_limited = next;
		if (is_limited)
			*(u8 *)next = 0;
		const u8 *after = read_object(s, at);
		if (is_limited)
			*(u8 *)next = '{';
		if (is_full)
			break;
		if (after) {
			at = skip_separators(after);
			continue;
		}
		s->patience -= (i32)(broken_at - at);
		if (!is_limited) {
			/* Nothing is known of what ends where the text does. */
			s->cut = !s->ended && *at == '{' && broken_at + TOKEN >= end;
			next = s->cut ? NULL : next_start(at, end);
			s->cut |= !next && !s->ended && !s->closed;
			if (s->cut)
				break;
		}
		next = next ? next : end;
		add_row(s, at, next, true);
		at = next;
	}
	s->at = (i32)(at - s->text);
}

/* Where the last object of a text begins that follows another one; 0 if none does. */
EXPORT(last_start) i32 last_start(const u8 *text, i32 size)
{
	i32 start = 0;
	for (i32 at = size - 1; at > 0; at--) {
		if (text[at] != '{')
			continue;
		i32 before = at - 1;
		while (before > 0 && (is_space(text[before]) || text[before] == ','))
			before--;
		if (text[before] == '}') {
			start = at;
			break;
		}
		at = before + 1;
	}
	return start;
}
