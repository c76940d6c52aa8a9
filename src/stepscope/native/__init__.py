"""Loops over arrays at machine speed: C compiled to WebAssembly, which needs no compiler where it runs.

The functions take and give NumPy arrays and know nothing of recordings. Their sources are in `source`; `make native`
builds `functions.wasm` of them, which is committed. `wasmtime` is imported when a function is first called.
"""
