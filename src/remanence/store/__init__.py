"""Records in, records out: files that anyone can read, written whole or not at all.

What makes arrays of pytrees is imported when it is first used, since it brings JAX.
"""

import importlib
from typing import TYPE_CHECKING, Any

from remanence.store._arrays import load_arrays as load_arrays
from remanence.store._arrays import save_arrays as save_arrays
from remanence.store._files import find_difference as find_difference
from remanence.store._files import locate_difference as locate_difference
from remanence.store._files import read_json as read_json
from remanence.store._files import remove_leftovers as remove_leftovers
from remanence.store._files import set_aside as set_aside
from remanence.store._files import write_bytes as write_bytes
from remanence.store._files import write_json as write_json
from remanence.store._files import write_text as write_text
from remanence.store._files import write_whole as write_whole
from remanence.store._holds import Hold as Hold
from remanence.store._holds import Owner as Owner
from remanence.store._holds import hold_directory as hold_directory
from remanence.store._holds import read_owner as read_owner
from remanence.store._machine import describe_machine as describe_machine
from remanence.store._machine import describe_process as describe_process
from remanence.store._machine import find_commit as find_commit
from remanence.store._machine import find_user as find_user
from remanence.store._machine import list_versions as list_versions
from remanence.store._packs import find_packed as find_packed
from remanence.store._packs import open_pack as open_pack
from remanence.store._packs import unpack as unpack
from remanence.store._packs import write_pack as write_pack
from remanence.store._tables import read_about as read_about
from remanence.store._tables import read_table as read_table
from remanence.store._tables import seal_tables as seal_tables
from remanence.store._tables import write_rows as write_rows
from remanence.store._tables import write_table as write_table

if TYPE_CHECKING:
    from remanence.store._leaves import name_leaves as name_leaves
    from remanence.store._leaves import restore_leaves as restore_leaves


def __getattr__(name: str) -> Any:
    if name in ("name_leaves", "restore_leaves"):
        return getattr(importlib.import_module("remanence.store._leaves"), name)
    raise AttributeError(f"module 'remanence.store' has no attribute {name!r}")
