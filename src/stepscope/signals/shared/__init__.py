"""What several topics of signals share: the window, the job, the work of the devices."""
