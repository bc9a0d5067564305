"""Many small files of a directory as one, which is read as if they lay there.

A directory's pack holds files of the folders in it, such as agents/seed-1.safetensors. It is a tar
file that any program unpacks. Files that lie there themselves come before those in the pack.
"""

import atexit
import functools
import io
import lzma
import shutil
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from remanence.errors import StoreError
from remanence.store._files import write_bytes

PACK = "packed.tar.xz"


def write_pack(directory: Path, files: Mapping[str, bytes]) -> None:
    """Write the pack of a directory, from names such as `agents/seed-1.safetensors` to contents.

    The same files give the same bytes.

    >>> from pathlib import Path
    >>> from remanence import store
    >>> store.write_pack(Path("run"), {"notes/one.txt": b"all of it"})
    >>> store.find_packed(Path("run/notes/one.txt")).read_bytes()
    b'all of it'
    """
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name in sorted(files):
            member = tarfile.TarInfo(name)
            member.size = len(files[name])
            tar.addfile(member, io.BytesIO(files[name]))
    write_bytes(directory / PACK, lzma.compress(made.getvalue(), preset=9))


def find_packed(path: Path) -> Path:
    """Where a file of a folder can be read: at its own place, or else unpacked for this process.

    One that is in neither is said to be at its own place.

    >>> from pathlib import Path
    >>> from remanence import store
    >>> store.write_pack(Path("run"), {"notes/one.txt": b"all of it"})
    >>> store.find_packed(Path("run/notes/two.txt")).as_posix()
    'run/notes/two.txt'
    """
    root = None if path.exists() else open_pack(path.parent.parent)
    packed = root and root / path.parent.name / path.name
    return packed if packed and packed.exists() else path


def open_pack(directory: Path) -> Path | None:
    """Where the pack of a directory is unpacked for this process; None if it has none.

    >>> from pathlib import Path
    >>> from remanence import store
    >>> store.open_pack(Path("run")) is None
    True
    """
    pack = directory / PACK
    try:
        found = pack.stat()
    except OSError:
        return None
    return _open(pack.absolute(), found.st_ino, found.st_mtime_ns)


def unpack(directory: Path) -> None:
    """Put the files of a directory's pack where they belong, and remove the pack.

    >>> from pathlib import Path
    >>> from remanence import store
    >>> store.write_pack(Path("run"), {"notes/one.txt": b"all of it"})
    >>> store.unpack(Path("run"))
    >>> sorted(file.as_posix() for file in Path("run").rglob("*.*"))
    ['run/notes/one.txt']
    """
    pack = directory / PACK
    if not pack.exists():
        return
    for name, content in _read(pack).items():
        if not (directory / name).exists():
            write_bytes(directory / name, content)
    pack.unlink(missing_ok=True)


@functools.cache
def _open(pack: Path, *version: int) -> Path:
    """`version` tells a pack from one that replaces it."""
    del version
    files = _read(pack)
    root = Path(tempfile.mkdtemp(prefix="remanence-"))
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    for name, content in files.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_bytes(content)
    return root


def _read(pack: Path) -> dict[str, bytes]:
    try:
        # All of it at once, whose end has the checksum.
        content = io.BytesIO(lzma.decompress(pack.read_bytes()))
        with tarfile.open(fileobj=content) as tar:
            members = {member.name: tar.extractfile(member) for member in tar}
            files = {name: it.read() for name, it in members.items() if it}
    except (tarfile.TarError, lzma.LZMAError, EOFError, OSError) as error:
        raise StoreError(pack, f"not a whole pack ({error})", "restore it from a copy") from error
    # A pack may come from anyone, and must not lead elsewhere.
    odd = [name for name in files if len(PurePosixPath(name).parts) != 2 or ".." in name]
    if odd or len(files) < len(members) or any(name.startswith("/") for name in files):
        raise StoreError(pack, "this pack was not written by remanence", "restore it from a copy")
    return files
