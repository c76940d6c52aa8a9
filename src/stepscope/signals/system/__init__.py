"""The machine that runs the job: clocks and operating system."""
