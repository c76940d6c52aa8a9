"""Samples of the machine while a job runs: processors, memory, disks, network, its processes and the devices.

They are taken by the launcher, which otherwise waits, so that nothing is added to the program's own processes. The file
beside the recording holds counters as the system gives them; `readers/machine` makes rates of them.
"""
