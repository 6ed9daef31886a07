"""`save` and `load`: trees of tensors in files of the safetensors format.

Invariant: a file is replaced atomically. A damaged or malicious file raises `FileFormatError`
before memory of its claimed size is allocated.
"""

from __future__ import annotations

import io
import os
import stat
from typing import IO, Any

import numpy as np

from ferrograd._core import _safetensors_header, _safetensors_write, asarray, tensor
from ferrograd._saving.tree_format import DTYPE_CODES, Encoder, decode, parse_json
from ferrograd._tensor.device import check_device
from ferrograd.errors import ArgumentError, ArgumentTypeError, FileFormatError

#: The metadata key of the container structure.
STRUCTURE_KEY = "ferrograd"

#: The first bytes of torch.save archives and pickles.
_PICKLE_PREFIXES = (b"PK\x03\x04", b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")

#: The largest header that readers of the format accept.
_MAX_HEADER_BYTES = 100_000_000

_DTYPES = {code: np.dtype(name) for name, code in DTYPE_CODES.items() if name != "complex128"}


class LoadedState(dict[str, Any]):
    """The tensors of a file written with PyTorch; `load_state_dict` reads the mark."""

    _metadata: Any = None


def save(obj: Any, path: str | os.PathLike[str] | IO[bytes]) -> None:
    """Writes a tree of tensors, numbers and strings to a file in the safetensors format.

    `obj` holds tensors, NumPy arrays and scalars, numbers, strings and None in dicts, lists and
    tuples, such as `model.state_dict()`. Other programs can read a flat dict of tensors. The file
    is replaced atomically: a new file is written to the same folder, flushed to the disk, and
    renamed; an error leaves the old file unchanged. An open file or an `io.BytesIO` gets the same
    bytes at its position, in one write; so does a path to a device or a pipe.

    >>> import tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "run.safetensors")
    >>> fg.save({"w": fg.ones(2), "epoch": 3, "seen": ("a", 0.5)}, path)
    >>> fg.load(path)
    {'w': tensor([1., 1.]), 'epoch': 3, 'seen': ('a', 0.5)}
    """
    if hasattr(path, "write"):
        content = _to_bytes(obj)
        try:
            path.write(content)
        except (TypeError, OSError) as error:
            raise _make_mode_error("save", path, "wb", error) from None
        return
    name = _check_path("save", path)
    if os.path.exists(name) and not os.path.isfile(name):
        content = _to_bytes(obj)
        with open(name, "wb", buffering=0) as device:
            _write_all(device, content)
        return
    try:
        _write_file(name, obj)
    except OSError as error:
        raise type(error)(f"save: {name!r}: {error}; the file is as it was") from None


def _write_all(device: io.RawIOBase, content: bytes) -> None:
    left = memoryview(content)
    while left:
        left = left[device.write(left) or 0 :]


def _write_file(name: str, obj: Any) -> None:
    encoder = Encoder()
    text = encoder.encode(obj)
    entries = [(key, *_encode_array(array)) for key, array in encoder.arrays.items()]
    _safetensors_write(name, entries, [(STRUCTURE_KEY, text)])


def _to_bytes(obj: Any) -> bytes:
    """The bytes of a file."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as home:
        name = os.path.join(home, "state")
        _write_file(name, obj)
        with open(name, "rb") as file:
            return file.read()


def load(
    path: str | os.PathLike[str] | IO[bytes],
    map_location: Any = None,
    *,
    mmap: bool = False,
    weights_only: bool = True,
) -> Any:
    """Reads what `save` wrote, or any other file of the safetensors format: a dict of tensors.

    With `mmap=True` the file is memory-mapped: bytes are read when they are used, and in-place
    changes stay in this process. bfloat16 becomes float32, which represents it exactly.
    `map_location` may only be the CPU. `weights_only` is accepted; no code of a file is ever run.
    An open file or an `io.BytesIO` is read from its position to its end.

    Raises `FileFormatError` for a file of another format, or a damaged or truncated one.
    """
    check_device(map_location)
    if not weights_only:
        raise ArgumentError(
            "load: weights_only is False; files hold tensors, numbers and texts only: leave it out"
        )
    if hasattr(path, "read"):
        if mmap:
            raise ArgumentError("load: mmap=True of an open file; give its path")
        name = getattr(path, "name", type(path).__name__)
        try:
            content = np.frombuffer(path.read(), np.uint8)
        except (TypeError, UnicodeDecodeError, OSError) as error:
            raise _make_mode_error("load", path, "rb", error) from None
    else:
        name = _check_path("load", path)
        with open(name, "rb", buffering=0) as file:
            regular = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
            if regular and not mmap:
                return _read_tree(name, _DiskContent(file))
            content = _map_memory(file) if regular else np.frombuffer(file.readall(), np.uint8)
    return _read_tree(name, _MemoryContent(content, mmap))


def _read_tree(name: str, content: _DiskContent | _MemoryContent) -> Any:
    try:
        return _SafetensorsFile(content).tree()
    except (ValueError, OverflowError, TypeError) as error:
        pickled = _is_pickle(content)
        what = "it is a pickle or a file of torch.save, which is never run" if pickled else error
        remedy = "; write safetensors.torch.save_file(model.state_dict(), path)" if pickled else ""
        raise FileFormatError(
            f"load: {name!r} is no whole file of the safetensors format: {what}; nothing was"
            f" loaded{remedy}"
        ) from None


def _is_pickle(content: _DiskContent | _MemoryContent) -> bool:
    try:
        return content.read_range(0, min(4, content.size)).tobytes().startswith(_PICKLE_PREFIXES)
    except ValueError:  # Another program has cut the file off meanwhile.
        return False


def _make_mode_error(op: str, file: Any, mode: str, error: Exception) -> Exception:
    """The error for an open file that does not read or write bytes."""
    name = getattr(file, "name", type(file).__name__)
    if isinstance(error, OSError) and not isinstance(error, ValueError):
        return type(error)(f"{op}: {name!r}: {error}")
    return ArgumentTypeError(f"{op}: {name!r} is open for something else; open it with {mode!r}")


def _check_path(op: str, path: Any) -> str:
    try:
        return os.fsdecode(path)
    except TypeError:
        raise ArgumentTypeError(
            f"{op}: the path is a {type(path).__name__}; give a str or a pathlib.Path"
        ) from None


def _encode_array(array: np.ndarray) -> tuple[str, tuple[int, ...], np.ndarray]:
    """Code of the dtype, shape and bytes of an array."""
    shape = array.shape
    code = DTYPE_CODES[array.dtype.name]
    if array.dtype.name == "complex128":
        shape = (*shape, 2)
    flat = np.ascontiguousarray(array, array.dtype.newbyteorder("<")).reshape(-1)
    return code, shape, flat.view(np.uint8)


def _map_memory(file: io.FileIO) -> np.ndarray:
    """The memory of a file that is mapped; an empty one has none."""
    if os.fstat(file.fileno()).st_size == 0:
        return np.zeros(0, np.uint8)
    return np.memmap(file, np.uint8, "c").view(np.ndarray)


class _MemoryContent:
    """The bytes of a file in memory, which tensors may keep."""

    def __init__(self, content: np.ndarray, kept: bool) -> None:
        self.size, self.is_shared, self._bytes = content.size, kept, content

    def read_range(self, begin: int, end: int) -> np.ndarray:
        """Some of the bytes."""
        return self._bytes[begin:end]


class _DiskContent:
    """The bytes of a file, read part by part: another program may rewrite it meanwhile."""

    is_shared = False

    def __init__(self, file: io.FileIO) -> None:
        self.size, self._file = os.fstat(file.fileno()).st_size, file

    def read_range(self, begin: int, end: int) -> np.ndarray:
        """A part of the bytes, copied."""
        found = np.empty(end - begin, np.uint8)
        left = found.data
        self._file.seek(begin)
        while left:
            count = self._file.readinto(left)
            if not count:
                raise ValueError(f"it had {self.size} bytes and ends before byte {end} now")
            left = left[count:]
        return found


class _SafetensorsFile:
    """The bytes of a file: its header, and the tensors in it."""

    def __init__(self, content: _MemoryContent | _DiskContent) -> None:
        self._content = content
        if content.size < 8:
            raise ValueError(f"it has {content.size} bytes, and a header begins with 8")
        length = int(content.read_range(0, 8).view("<u8")[0])
        begin = content.read_range(0, min(content.size, 8 + min(length, _MAX_HEADER_BYTES)))
        texts, described = _safetensors_header(begin, content.size)
        # The reader of the header keeps the last of equal keys; here they are an error.
        parse_json(begin[8:].tobytes().decode())
        self._texts = dict(texts)
        # The table of the reader is unordered: tensors are sorted by their position in the file.
        in_order = sorted(described, key=lambda row: (*row[3:], row[0]))
        self._described = {name: (code, shape, at, end) for name, code, shape, at, end in in_order}

    def tree(self) -> Any:
        """The saved tree; a dict of all tensors if another program wrote the file."""
        if STRUCTURE_KEY in self._texts:
            return decode(self._texts[STRUCTURE_KEY], self._get_value)
        found = LoadedState(
            (name, self._get_value("tensor", name, False)) for name in self._described
        )
        if self._texts.get("format") == "pt":
            found._metadata = self._texts
            return found
        return dict(found)

    def _get_value(self, kind: str, name: str, wide: bool) -> Any:
        if name not in self._described:
            raise ValueError(f"it has no tensor {name!r:.60}, which its structure names")
        array = self._get_array(name, wide)
        if kind == "scalar":
            if array.ndim:
                raise ValueError(f"the scalar {name!r:.60} has shape {array.shape}")
            return array[()]
        if kind == "array":
            return array if self._content.is_shared else array.copy()
        return asarray(array) if self._content.is_shared else tensor(array)

    def _get_array(self, name: str, wide: bool) -> np.ndarray:
        code, shape, begin, end = self._described[name]
        raw = self._content.read_range(begin, end)
        if code == "BF16":
            halves = raw.view("<u2").astype(np.uint32) << 16
            made: np.ndarray = halves.view(np.float32).reshape(shape)
            return made
        dtype = _DTYPES.get(code)
        if dtype is None:
            raise ValueError(f"{name!r:.60} has dtype {code}, which tensors do not have here")
        if wide:
            if code != "F64" or not shape or shape[-1] != 2:
                raise ValueError(f"{name!r:.60} is said to be complex and has shape {shape}")
            dtype, shape = np.dtype("complex128"), shape[:-1]
        if code == "BOOL" and raw.size and raw.max() > 1:
            raise ValueError(f"{name!r:.60} has booleans that are neither 0 nor 1")
        elements: np.ndarray = raw.view(dtype.newbyteorder("<")).reshape(shape)
        return elements
