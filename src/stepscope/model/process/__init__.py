"""Resources of the process: connections, memory, locks, temporary folders."""
