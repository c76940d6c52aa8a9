"""Machines: devices with what they sustain, their links, and how long work and collectives take on them."""
