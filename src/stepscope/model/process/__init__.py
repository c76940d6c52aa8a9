"""What the process takes of the system: connections, memory, locks, temporary folders."""
