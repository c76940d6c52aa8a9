/* Texts of JSON: strings, numbers, literals and white space, checked by the letter (RFC 8259).
 *
 * A text ends with zeros, of which JSON has none, so that no loop need ask where it ends; whole vectors may be read
 * there. Each function gets a place in the text and returns the first one behind what it reads, or NULL if that is
 * broken, and then `broken_at` is where. */
#ifndef STEPSCOPE_TEXT_H
#define STEPSCOPE_TEXT_H

#include "native.h"
#include <wasm_simd128.h>

static const u8 *broken_at;

static inline const u8 *broken(const u8 *at)
{
	broken_at = at;
	return NULL;
}

static inline bool is_space(u8 byte)
{
	return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t';
}

static inline const u8 *skip_space(const u8 *at)
{
	while (is_space(*at))
		at++;
	return at;
}

static inline bool is_digit(u8 byte)
{
	return (u8)(byte - '0') < 10;
}

/* What is between two events of a list: commas, of which there may be none or many, and white space. */
static inline const u8 *skip_separators(const u8 *at)
{
	while (is_space(*at) || *at == ',')
		at++;
	return at;
}

/* The value of four hexadecimal digits; -1 if they are none. */
static inline i32 hexadecimal(const u8 *at)
{
	i32 value = 0;
	for (i32 i = 0; i < 4; i++) {
		u8 byte = at[i], letter = byte | 0x20;
		if (is_digit(byte))
			value = value << 4 | (byte - '0');
		else if (letter >= 'a' && letter <= 'f')
			value = value << 4 | (letter - 'a' + 10);
		else
			return -1;
	}
	return value;
}

/* An escape, from its backslash on. Half of a pair of surrogates is no character. */
static inline const u8 *skip_escape(const u8 *at)
{
	switch (at[1]) {
	case '"': case '\\': case '/': case 'b': case 'f': case 'n': case 'r': case 't':
		return at + 2;
	case 'u': {
		i32 unit = hexadecimal(at + 2);
		if (unit < 0 || (unit >= 0xdc00 && unit < 0xe000))
			return broken(at);
		if (unit < 0xd800 || unit >= 0xe000)
			return at + 6;
		if (at[6] != '\\' || at[7] != 'u')
			return broken(at);
		unit = hexadecimal(at + 8);
		return unit >= 0xdc00 && unit < 0xe000 ? at + 12 : broken(at);
	}
	default:
		return broken(at);
	}
}

static inline bool continues(u8 byte)
{
	return (byte & 0xc0) == 0x80;
}

/* A character of two to four bytes of UTF-8: shortest form, no surrogate, up to U+10FFFF (RFC 3629, section 4). */
static inline const u8 *skip_character(const u8 *at)
{
	u8 first = at[0], second = at[1];
	if (first < 0xc2 || first > 0xf4 || !continues(second))
		return broken(at);
	if (first < 0xe0)
		return at + 2;
	if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) || (first == 0xf0 && second < 0x90)
	    || (first == 0xf4 && second > 0x8f) || !continues(at[2]))
		return broken(at);
	if (first < 0xf0)
		return at + 3;
	return continues(at[3]) ? at + 4 : broken(at);
}

/* A string, from behind its opening quote on. */
static inline const u8 *skip_string(const u8 *at)
{
	const v128_t quote = wasm_i8x16_splat('"'), backslash = wasm_i8x16_splat('\\'), space = wasm_i8x16_splat(' ');
	for (;;) {
		v128_t bytes = wasm_v128_load(at);
		/* As signed numbers, control characters and those of several bytes are less than a space. */
		v128_t stops = wasm_v128_or(wasm_v128_or(wasm_i8x16_eq(bytes, quote), wasm_i8x16_eq(bytes, backslash)),
					    wasm_i8x16_lt(bytes, space));
		u32 mask = wasm_i8x16_bitmask(stops);
		if (!mask) {
			at += 16;
			continue;
		}
		at += __builtin_ctz(mask);
		if (*at == '"')
			return at + 1;
		at = *at == '\\' ? skip_escape(at) : *at >= 0x80 ? skip_character(at) : broken(at);
		if (!at)
			return NULL;
	}
}

/* A word such as `infinity` in any case, given in lower case. */
static inline const u8 *skip_word(const u8 *at, const char *word)
{
	for (; *word; at++, word++)
		if ((*at | 0x20) != *word)
			return NULL;
	return at;
}

/* A number; also NaN and infinities, which many programs write. */
static inline const u8 *skip_number(const u8 *at)
{
	const u8 *start = at;
	if (*at == '-')
		at++;
	if (!is_digit(*at)) {
		const u8 *end;
		if ((end = skip_word(at, "nan")) || (end = skip_word(at, "infinity")) || (end = skip_word(at, "inf")))
			return end;
		return broken(start);
	}
	if (*at == '0')
		at++;
	else
		while (is_digit(*at))
			at++;
	if (*at == '.') {
		if (!is_digit(*++at))
			return broken(at);
		while (is_digit(*at))
			at++;
	}
	if ((*at | 0x20) == 'e') {
		at++;
		if (*at == '+' || *at == '-')
			at++;
		if (!is_digit(*at))
			return broken(at);
		while (is_digit(*at))
			at++;
	}
	return at;
}

static inline const u8 *skip_literal(const u8 *at)
{
	if (at[0] == 't' && at[1] == 'r' && at[2] == 'u' && at[3] == 'e')
		return at + 4;
	if (at[0] == 'n' && at[1] == 'u' && at[2] == 'l' && at[3] == 'l')
		return at + 4;
	if (at[0] == 'f' && at[1] == 'a' && at[2] == 'l' && at[3] == 's' && at[4] == 'e')
		return at + 5;
	return skip_number(at);
}

/* Deepest nesting that is followed; JSON that is nested deeper counts as broken. */
enum { DEEPEST = 1 << 14 };

/* A value of any kind. What is open is an object where the bit of its level is set, else a list. */
static const u8 *skip_value(const u8 *at)
{
	static u64 is_object[DEEPEST / 64];
	i32 level = 0;
	for (;;) {
		/* A value begins here. */
		if (*at == '"') {
			at = skip_string(at + 1);
		} else if (*at == '{' || *at == '[') {
			if (++level == DEEPEST)
				return broken(at);
			u64 bit = 1ull << (level & 63);
			bool object = *at == '{';
			is_object[level >> 6] = object ? is_object[level >> 6] | bit : is_object[level >> 6] & ~bit;
			at = skip_space(at + 1);
			if (*at == (object ? '}' : ']')) {
				at++;
				level--;
			} else if (object) {
				goto key;
			} else {
				continue;
			}
		} else {
			at = skip_literal(at);
		}
		if (!at)
			return NULL;

		/* A value ended here; maybe also what it is in. */
		for (;;) {
			if (!level)
				return at;
			at = skip_space(at);
			bool object = is_object[level >> 6] >> (level & 63) & 1;
			if (*at == ',') {
				at = skip_space(at + 1);
				if (object)
					goto key;
				break;
			}
			if (*at != (object ? '}' : ']'))
				return broken(at);
			at++;
			level--;
		}
		continue;
	key:
		if (*at != '"')
			return broken(at);
		if (!(at = skip_string(at + 1)))
			return NULL;
		at = skip_space(at);
		if (*at != ':')
			return broken(at);
		at = skip_space(at + 1);
	}
}

#endif
