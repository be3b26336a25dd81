"""Who may have written a file: files that another user can write are not trusted to hold code or a run's state."""

from __future__ import annotations

import os
import stat


def distrust(status: os.stat_result) -> str | None:
    """The reason not to trust the content of a file or directory; None if only this user and root can have written it.

    The sticky bit of a directory such as ``/tmp`` changes nothing: others cannot replace files in it, but can add some.
    """
    if status.st_uid not in (os.geteuid(), 0):
        return f"it belongs to {user_name(status.st_uid)}"
    if status.st_mode & stat.S_IWOTH:
        return "all users can write to it"
    if status.st_mode & stat.S_IWGRP and not is_private_group(status.st_gid):
        return f"all members of group {group_name(status.st_gid)} can write to it"
    return None


def is_private_group(gid: int) -> bool:
    """Whether this user is the only member of a group, as most Linux distributions set it up for each user."""
    import grp
    import pwd

    try:
        group, user = grp.getgrgid(gid), pwd.getpwuid(os.geteuid())
    except KeyError:
        return False
    alone = set(group.gr_mem) <= {user.pw_name}
    return gid == 0 == user.pw_uid or (gid == user.pw_gid and group.gr_name == user.pw_name and alone)


def user_name(uid: int) -> str:
    """The name of a user, as text for a message."""
    import pwd

    try:
        return f"user {pwd.getpwuid(uid).pw_name}"
    except KeyError:
        return f"user {uid}"


def group_name(gid: int) -> str:
    """The name of a group, or its number if it has none."""
    import grp

    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)
