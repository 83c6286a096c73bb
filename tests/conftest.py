"""Undoes what a shell does to the tests that it runs in the background."""

import signal

# Such a process ignores interruptions, and so would its children, which some tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
