/* What every source here shares.
 *
 * WebAssembly without a C library: all memory is given by the caller, who lays arrays out one behind the other. An
 * access outside of the memory ends the call with a trap. Signed arithmetic wraps around, as in NumPy (-fwrapv). */
#ifndef STEPSCOPE_NATIVE_H
#define STEPSCOPE_NATIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef int32_t i32;
typedef uint32_t u32;
typedef int64_t i64;
typedef uint64_t u64;

/* Makes a function one that Python can call, under its name here. */
#define EXPORT(name) __attribute__((export_name(#name)))

#endif
