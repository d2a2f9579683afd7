"""Runtimes that models are timed in; what each has to do is `graph.timed_runtime.Runtime`."""
