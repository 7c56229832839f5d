"""A lock on an open file, which the system gives back however its holder ends."""

import errno
import sys

WITHOUT_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)  # what some network file systems answer


def try_lock(descriptor: int) -> bool | None:
    """Whether the lock is ours now; None where there is none to be had: on Windows, or on such a file system."""
    if sys.platform == "win32":
        return None
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in WITHOUT_LOCKS:
            raise
        return None
    return True
