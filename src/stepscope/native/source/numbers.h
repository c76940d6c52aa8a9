/* Numbers in the plain forms in which programs write them, with or without quotes; others are left to the caller. */
#ifndef STEPSCOPE_NUMBERS_H
#define STEPSCOPE_NUMBERS_H

#include "text.h"

/* Reads [at, end), a whole JSON value, as an integer of at most 18 digits. */
static inline bool plain_integer(const u8 *at, const u8 *end, i64 *value)
{
	if (*at == '"')
		at++, end--;
	bool negative = *at == '-';
	at += negative;
	if (end - at < 1 || end - at > 18 || (*at == '0' && end - at > 1))
		return false;
	i64 sum = 0;
	for (; at < end; at++) {
		if (!is_digit(*at))
			return false;
		sum = 10 * sum + (*at - '0');
	}
	*value = negative ? -sum : sum;
	return true;
}

/* Reads [at, end) as a decimal fraction with at most 16 digits before its point, in thousandths: the fourth digit
 * behind the point decides how it is rounded, away from zero. Times since 1970 in microseconds have 16 digits; larger
 * thousandths than `MOST_THOUSANDTHS` are left to the caller, which limits them. */
static const i64 MOST_THOUSANDTHS = 9000000000000000000;

static inline bool plain_thousandths(const u8 *at, const u8 *end, i64 *value)
{
	if (*at == '"')
		at++, end--;
	bool negative = *at == '-';
	at += negative;
	i64 sum = 0;
	const u8 *first = at;
	for (; at < end && is_digit(*at); at++)
		sum = 10 * sum + (*at - '0');
	if (at == first || at - first > 16)
		return false;
	if (sum > MOST_THOUSANDTHS / 1000 - 1)
		return false;
	const u8 *point = at;
	for (i32 place = 0; place < 3; place++) {
		sum *= 10;
		if (at == point && at < end && *at == '.')
			at++;
		if (at < end && is_digit(*at))
			sum += *at++ - '0';
	}
	if (at < end && is_digit(*at) && at > point)
		sum += *at >= '5';
	while (at < end && at > point && is_digit(*at))
		at++;
	if (at != end || end[-1] == '.')
		return false;
	*value = negative ? -sum : sum;
	return true;
}

#endif
