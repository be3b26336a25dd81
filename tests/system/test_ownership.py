"""`distrust`: whose files hold code or a run's state that this user may load."""

from __future__ import annotations

import os
import stat

import pytest

from garaph_py.system.ownership import distrust

ME, ANOTHER = os.geteuid(), os.geteuid() + 12345
STRANGE_GROUP = 54321  # no user's own group


def status(mode: int, uid: int = ME, gid: int = STRANGE_GROUP) -> os.stat_result:
    return os.stat_result((mode, 0, 0, 1, uid, gid, 0, 0, 0, 0))


@pytest.mark.parametrize("kind", [stat.S_IFREG, stat.S_IFDIR])
@pytest.mark.parametrize("permissions", [0o600, 0o700, 0o644, 0o755])
@pytest.mark.parametrize("uid", [ME, 0])
def test_what_only_this_user_can_write_is_trusted(kind, permissions, uid):
    assert distrust(status(kind | permissions, uid)) is None


@pytest.mark.parametrize("permissions", [0o600, 0o777])
def test_a_file_of_another_user_is_not(permissions):
    assert distrust(status(stat.S_IFREG | permissions, ANOTHER)) == f"it belongs to user {ANOTHER}"


@pytest.mark.parametrize("kind", [stat.S_IFREG, stat.S_IFDIR])
def test_a_file_that_others_can_write_is_not(kind):
    assert distrust(status(kind | 0o606)) == "all users can write to it"
    assert distrust(status(kind | 0o660)) == f"all members of group {STRANGE_GROUP} can write to it"


def test_a_group_of_this_user_alone_is_trusted(monkeypatch):
    import grp
    import pwd

    me = pwd.struct_passwd(("me", "x", ME, 4711, "", "/", "/bin/sh"))
    monkeypatch.setattr(pwd, "getpwuid", lambda uid: me)
    for members, trusted in ([], True), (["me"], True), (["me", "you"], False):
        monkeypatch.setattr(grp, "getgrgid", lambda gid, members=members: grp.struct_group(("me", "x", gid, members)))
        assert (distrust(status(stat.S_IFREG | 0o664, gid=4711)) is None) == trusted
    assert distrust(status(stat.S_IFREG | 0o664, gid=4712))


def test_a_directory_like_tmp_is_not():
    assert distrust(status(stat.S_IFDIR | stat.S_ISVTX | 0o777)) == "all users can write to it"
