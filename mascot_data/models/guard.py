"""Runs a command until it ends, or until standard input ends: that is when the process that started this is gone.

Started as a script, as the leader of a process group of its own. However it ends, nothing of the group is left.
"""

import os
import signal
import subprocess
import sys
import threading
from typing import NoReturn

GRACE_SECONDS = 10.0


def main(command: list[str]) -> NoReturn:
    """Run the command and end with its whole process group."""
    # A handler, since an ignored signal would be ignored by the command as well.
    signal.signal(signal.SIGTERM, lambda *_: None)
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    threading.Thread(target=_stop_when_alone, args=(child,), daemon=True).start()
    print(f"the server ended with status {child.wait()}", flush=True)
    os.killpg(os.getpgrp(), signal.SIGKILL)
    sys.exit(1)


def _stop_when_alone(child: subprocess.Popen[bytes]) -> None:
    while sys.stdin.buffer.read(1024):
        pass
    os.killpg(os.getpgrp(), signal.SIGTERM)
    try:
        child.wait(GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        child.kill()


if __name__ == "__main__":
    main(sys.argv[1:])
