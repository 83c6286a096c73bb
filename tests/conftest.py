"""What a shell does to the tests that it runs in the background is undone."""

import signal

# Such a process ignores interruptions, and so would those that it starts, which some tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
