"""`fg.save` and `fg.load`: what comes back, other programs' files, and files that are damaged."""

import contextlib
import io
import json
import math
import os
import stat
import struct
import tracemalloc
from pathlib import Path
from threading import Thread
from typing import Any
from unittest import mock

import numpy as np
import pytest

import ferrograd as fg
from ferrograd import nn
from ferrograd._saving import files
from ferrograd.errors import ArgumentError, ArgumentTypeError, FileFormatError, ShapeError
from processes import run

DTYPES = [
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
]


def written(path: Path, header: Any, data: bytes = b"", length: int | None = None) -> Path:
    """A file with this header, which is JSON or bytes."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text) if length is None else length) + text + data)
    return path


def entry(shape: list[Any], begin: int, end: int, dtype: str = "F32") -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def same(a: Any, b: Any) -> bool:
    """Whether two trees have the same containers, types and bits."""
    if isinstance(a, fg.Tensor | np.ndarray | np.generic):
        x, y = np.asarray(a), np.asarray(b)
        return (
            type(a) is type(b)
            and x.dtype == y.dtype
            and x.shape == y.shape
            and (x.tobytes() == y.tobytes())
        )
    if isinstance(a, dict):
        pairs = zip(a.items(), b.items(), strict=True)
        return type(b) is dict and all(same(k, m) and same(v, w) for (k, v), (m, w) in pairs)
    if isinstance(a, list | tuple):
        return type(a) is type(b) and all(map(same, a, b)) and len(a) == len(b)
    if isinstance(a, float) and math.isnan(a):
        return isinstance(b, float) and math.isnan(b)
    return type(a) is type(b) and a == b


class TestWhatComesBack:
    @pytest.mark.parametrize("mmap", [False, True])
    @pytest.mark.parametrize("dtype", DTYPES)
    def test_every_dtype(self, tmp_path: Path, dtype: str, mmap: bool) -> None:
        rng = np.random.default_rng(0)
        wide = rng.integers(0, 255, 3 * 4 * 16, np.uint8)
        array = (wide % 2).astype(bool) if dtype == "bool" else wide.view(dtype)
        array = array[: array.size // 6 * 6].reshape(3, 2, -1)
        tree = {"x": fg.tensor(array), "t": fg.tensor(array).T, "empty": fg.tensor(array[:0])}
        tree |= {"array": array, "scalar": array[0, 0, 0], "none": fg.tensor(array[0, 0, 0])}
        fg.save(tree, tmp_path / "a")
        assert same(fg.load(tmp_path / "a", mmap=mmap), tree)

    def test_trees(self, tmp_path: Path) -> None:
        tree = {
            "numbers": [1, -(10**30), 0.1, -0.0, math.inf, math.nan, 1e-320, True, None],
            "z": 1 - 2j,
            (1, "a", None): (fg.ones(2), [], {}, ()),
            3: {"__metadata__": fg.ones(1), "tensor": "x", "é\n": "\ud800"[:0]},
            0.5: np.float32(0.1),
        }
        fg.save(tree, str(tmp_path / "a"))
        assert same(fg.load(str(tmp_path / "a")), tree)
        for value in (fg.ones(2), 3, None, "text", [fg.ones(1)] * 2):
            fg.save(value, tmp_path / "a")
            assert same(fg.load(tmp_path / "a"), value)

    def test_names_that_are_the_same_text(self, tmp_path: Path) -> None:
        tree = {"a": {"b": fg.ones(1)}, "a.b": fg.zeros(1), "a.b#2": fg.zeros(2)}
        fg.save(tree, tmp_path / "a")
        assert same(fg.load(tmp_path / "a"), tree)

    def test_the_same_tree_is_the_same_file(self, tmp_path: Path) -> None:
        tree = {"b": fg.ones(2), "a": np.arange(3), "c": 1}
        fg.save(tree, tmp_path / "a")
        fg.save(tree, tmp_path / "b")
        assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()

    def test_mapped_tensors_may_change_and_the_file_does_not(self, tmp_path: Path) -> None:
        fg.save({"x": fg.ones(3)}, tmp_path / "a")
        x = fg.load(tmp_path / "a", mmap=True)["x"]
        x += 1
        assert x.tolist() == [2, 2, 2]
        assert fg.load(tmp_path / "a")["x"].tolist() == [1, 1, 1]

    def test_mapped_tensors_are_read_when_they_are_used(self, tmp_path: Path) -> None:
        fg.save({"x": fg.zeros(4_000_000), "y": fg.ones(1)}, tmp_path / "a")
        before = fg.live_bytes()
        tracemalloc.start()
        loaded = fg.load(tmp_path / "a", mmap=True)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 1_000_000
        assert fg.live_bytes() - before < 1_000_000
        assert loaded["y"].item() == 1

    @pytest.mark.parametrize(
        "value",
        [object(), {"a": [print]}, {"a": np.array(["x"])}, {object(): 1}, {1, 2}, b"bytes"],
        ids=["object", "function", "text", "key", "set", "bytes"],
    )
    def test_what_cannot_be_saved(self, tmp_path: Path, value: Any) -> None:
        (tmp_path / "a").write_text("old")
        with pytest.raises(ArgumentTypeError, match="save"):
            fg.save(value, tmp_path / "a")
        assert (tmp_path / "a").read_text() == "old"

    def test_a_tree_that_holds_itself(self, tmp_path: Path) -> None:
        tree: list[Any] = []
        tree.append(tree)
        with pytest.raises(ShapeError, match="nested more than"):
            fg.save(tree, tmp_path / "a")

    def test_paths(self, tmp_path: Path) -> None:
        with pytest.raises(ArgumentTypeError, match="the path is a int"):
            fg.save(1, 3)  # type: ignore[arg-type]
        with pytest.raises(FileNotFoundError):
            fg.load(tmp_path / "missing")
        with pytest.raises(FileNotFoundError, match="the file is as it was"):
            fg.save(1, tmp_path / "no" / "folder")
        os.symlink(tmp_path / "a", tmp_path / "link")
        fg.save(1, tmp_path / "a")
        os.chmod(tmp_path / "a", 0o640)
        fg.save(2, tmp_path / "link")
        assert (tmp_path / "link").is_symlink()
        assert fg.load(tmp_path / "a") == 2
        assert (tmp_path / "a").stat().st_mode & 0o777 == 0o640
        assert sorted(os.listdir(tmp_path)) == ["a", "link"]

    def test_what_a_killed_program_left_is_removed(self, tmp_path: Path) -> None:
        (tmp_path / ".a.99999-0.tmp").write_text("left")
        (tmp_path / ".a.mine.tmp").write_text("of somebody else")
        fg.save(1, tmp_path / "a")
        assert sorted(os.listdir(tmp_path)) == [".a.mine.tmp", "a"]


class TestWhatIsNoFile:
    """What a name leads to is written to, or refused; it is never replaced by a file."""

    def test_a_link_that_leads_nowhere(self, tmp_path: Path) -> None:
        (tmp_path / "folder").mkdir()
        os.symlink("folder/a", tmp_path / "link")
        os.symlink("link", tmp_path / "second")
        fg.save({"x": 1}, tmp_path / "second")
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "second").is_symlink()
        assert fg.load(tmp_path / "folder" / "a") == {"x": 1}
        os.symlink("loop", tmp_path / "loop")
        with pytest.raises(OSError, match="links"):
            fg.save(1, tmp_path / "loop")

    def test_a_pipe(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        # More than a pipe holds.
        tree, found = {"x": fg.ones(100_000), "n": 3}, []
        reading = Thread(target=lambda: found.append((tmp_path / "pipe").read_bytes()))
        reading.start()
        fg.save(tree, tmp_path / "pipe")
        reading.join()
        assert (tmp_path / "pipe").is_fifo()
        assert os.listdir(tmp_path) == ["pipe"]
        assert same(fg.load(io.BytesIO(found[0])), tree)
        writing = Thread(target=lambda: (tmp_path / "pipe").write_bytes(found[0]))
        writing.start()
        assert same(fg.load(tmp_path / "pipe"), tree)
        writing.join()

    def test_a_device(self) -> None:
        first, second = os.openpty()
        name = os.ttyname(second)
        fg.save(1, name)
        assert stat.S_ISCHR(os.stat(name).st_mode)
        assert b"ferrograd" in os.read(first, 1000)
        os.close(first), os.close(second)

    def test_a_folder(self, tmp_path: Path) -> None:
        with pytest.raises(IsADirectoryError):
            fg.save(1, tmp_path)
        assert not os.listdir(tmp_path)


def test_a_file_that_is_rewritten_while_it_is_read() -> None:
    done = run("""
import os, tempfile
path = os.path.join(tempfile.mkdtemp(), "a")
fg.save({"x": fg.ones(1 << 19)}, path)
content = open(path, "rb").read()
def rewrite():
    while loading:
        os.truncate(path, 0)
        with open(path, "r+b") as file: file.write(content)
loading, ends = [1], set()
sys.setswitchinterval(1e-5)
thread = threading.Thread(target=rewrite); thread.start()
try:
    for _ in range(150):
        try: assert fg.load(path)["x"].shape == (1 << 19,)
        except fg.errors.FileFormatError: ends.add("cut off")
finally: loading.clear(); thread.join()
assert ends
""")
    assert done.returncode == 0, done.stderr


def test_a_file_that_is_cut_off_while_it_is_read(tmp_path: Path) -> None:
    class Shrinking(files._DiskContent):
        def read_range(self, begin: int, end: int) -> np.ndarray:
            os.truncate(tmp_path / "a", 0)
            return super().read_range(begin, end)

    fg.save({"x": fg.ones(3)}, tmp_path / "a")
    ends = pytest.raises(fg.errors.FileFormatError, match="ends before byte 8 now")
    with mock.patch.object(files, "_DiskContent", Shrinking), ends:
        fg.load(tmp_path / "a")


class TestFilesOfOthers:
    def test_a_flat_dict_is_a_plain_file(self, tmp_path: Path) -> None:
        model = nn.Linear(3, 2)
        fg.save(model.state_dict(), tmp_path / "a")
        raw = (tmp_path / "a").read_bytes()
        (length,) = struct.unpack("<Q", raw[:8])
        header = json.loads(raw[8 : 8 + length])
        assert header["weight"]["dtype"] == "F64"
        assert header["weight"]["shape"] == [3, 2]
        assert (8 + length) % 8 == 0
        other = nn.Linear(3, 2)
        other.load_state_dict(fg.load(tmp_path / "a"))
        assert np.array_equal(other.weight.detach(), model.weight.detach())

    @pytest.mark.parametrize("mmap", [False, True])
    def test_weights_of_pytorch_are_turned(self, tmp_path: Path, mmap: bool) -> None:
        weight = np.arange(4, dtype="<f4").reshape(2, 2)
        header = {
            "__metadata__": {"format": "pt"},
            "weight": entry([2, 2], 0, 16),
            "bias": entry([2], 16, 24),
        }
        written(tmp_path / "a", header, weight.tobytes() + bytes(8))
        model = nn.Linear(2, 2)
        model.load_state_dict(fg.load(tmp_path / "a", mmap=mmap))
        assert np.array_equal(model.weight.detach(), weight.T)

    def test_bfloat16_and_what_is_not_aligned(self, tmp_path: Path) -> None:
        header = {
            "b": entry([1], 0, 1, "I8"),
            "x": entry([2], 1, 9),
            "h": entry([2], 9, 13, "BF16"),
        }
        values = np.array([1.5, -2.0], "<f4")
        halves = (values.view("<u4") >> 16).astype("<u2")
        written(tmp_path / "a", header, b"\x07" + values.tobytes() + halves.tobytes())
        for mmap in (False, True):
            loaded = fg.load(tmp_path / "a", mmap=mmap)
            assert loaded["x"].tolist() == loaded["h"].tolist() == [1.5, -2.0]
            assert loaded["h"].dtype == np.float32

    def test_the_library_of_others_reads_ours_and_we_read_its(self, tmp_path: Path) -> None:
        library = pytest.importorskip("safetensors.numpy")
        arrays = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.array([True, False])}
        fg.save({k: fg.tensor(v) for k, v in arrays.items()}, tmp_path / "ours")
        library.save_file(arrays, tmp_path / "theirs")
        ours, theirs = library.load_file(tmp_path / "ours"), fg.load(tmp_path / "theirs")
        assert all(same(ours[k], v) and same(np.asarray(theirs[k]), v) for k, v in arrays.items())

    def test_tensors_of_a_file_of_others_come_as_they_lie_in_it(self, tmp_path: Path) -> None:
        names = [f"layer{i * 7 % 40}" for i in range(40)]
        header = {name: entry([1], 4 * i, 4 * i + 4) for i, name in enumerate(names)}
        shuffled = {name: header[name] for name in sorted(names)}
        empty = [f"empty{i}" for i in range(9, -1, -1)]
        shuffled |= {name: entry([0], 0, 0) for name in empty}
        path = written(tmp_path / "a", shuffled, np.arange(40, dtype="<f4").tobytes())
        assert list(fg.load(path)) == [*sorted(empty), *names]


def ours(text: str, **more: Any) -> dict[str, Any]:
    return {"__metadata__": {"ferrograd": text}, **more}


def tree(coded: str) -> dict[str, Any]:
    return ours(f'{{"version": 1, "tree": {coded}}}', x=entry([1], 0, 4))


F = entry([1], 0, 4)
DAMAGED: dict[str, tuple[Any, bytes]] = {
    "empty header": (b"", b""),
    "no JSON": (b"{{{{", b""),
    "no text": (b"\xff\xfe{}", b""),
    "a list": ([1], b""),
    "data cut off": ({"x": F}, b"123"),
    "more data": ({"x": F}, b"12345"),
    "a hole": ({"x": F, "y": entry([1], 8, 12)}, bytes(12)),
    "overlap": ({"x": F, "y": entry([1], 2, 6)}, bytes(6)),
    "the same bytes": ({"x": F, "y": F}, bytes(4)),
    "backwards": ({"x": entry([1], 4, 0)}, bytes(4)),
    "negative offset": ({"x": entry([1], -4, 0)}, bytes(4)),
    "huge offset": ({"x": entry([1], 0, 2**63)}, bytes(4)),
    "offset beyond integers": ({"x": entry([1], 0, 2**70)}, bytes(4)),
    "negative shape": ({"x": entry([-1], 0, 4)}, bytes(4)),
    "huge shape": ({"x": entry([2**62, 2**62], 0, 4)}, bytes(4)),
    "huge empty shape": ({"x": entry([0, 2**62, 2**62], 0, 0)}, b""),
    "NaN in a shape": (b'{"x":{"dtype":"F32","shape":[NaN],"data_offsets":[0,4]}}', bytes(4)),
    "a fraction in a shape": ({"x": entry([1.5], 0, 4)}, bytes(4)),
    "text in a shape": ({"x": entry(["1"], 0, 4)}, bytes(4)),
    "another size": ({"x": entry([2], 0, 4)}, bytes(4)),
    "too many axes": ({"x": entry([1] * 100, 0, 4)}, bytes(4)),
    "no such dtype": ({"x": entry([1], 0, 4, "F33")}, bytes(4)),
    "a dtype that tensors do not have": ({"x": entry([4], 0, 4, "F8_E4M3")}, bytes(4)),
    "no booleans": ({"x": entry([4], 0, 4, "BOOL")}, b"\1\0\2\1"),
    "a tensor twice": (
        b'{"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},'
        b'"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}',
        bytes(4),
    ),
    "a word twice": (
        b'{"x":{"dtype":"F32","dtype":"I32","shape":[1],"data_offsets":[0,4]}}',
        bytes(4),
    ),
    "texts twice": (b'{"__metadata__":{"a":"1","a":"2"}}', b""),
    "texts that are numbers": ({"__metadata__": {"a": 1}}, b""),
    "deep": (b'{"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}", b""),
    "structure: no JSON": (ours("{"), b""),
    "structure: deep": (tree("[" * 50_000 + "]" * 50_000), bytes(4)),
    "structure: nested": (tree("[" * 100 + "]" * 100), bytes(4)),
    "structure: another version": (ours('{"version": 2, "tree": 1}'), b""),
    "structure: a list": (ours("[]"), b""),
    "structure: no such tensor": (tree('{"tensor": "y"}'), bytes(4)),
    "structure: no such word": (tree('{"object": "x"}'), bytes(4)),
    "structure: more words": (tree('{"tensor": "x", "code": "exit()"}'), bytes(4)),
    "structure: no complex": (tree('{"tensor": "x", "dtype": "complex128"}'), bytes(4)),
    "structure: no scalar": (tree('{"scalar": "x"}'), bytes(4)),
    "structure: no number": (tree('{"float": "one"}'), bytes(4)),
    "structure: a key twice": (tree('{"dict": [["a", 1], ["a", 2]]}'), bytes(4)),
    "structure: a list as a key": (tree('{"dict": [[["a"], 1]]}'), bytes(4)),
    "structure: a tensor as a key": (tree('{"dict": [[{"tensor": "x"}, 1]]}'), bytes(4)),
    "structure: no pair": (tree('{"dict": [1]}'), bytes(4)),
    "structure: a long number": (tree("9" * 10_000), bytes(4)),
}


class TestDamagedFiles:
    @pytest.mark.parametrize("mmap", [False, True])
    @pytest.mark.parametrize("name", DAMAGED)
    def test_a_clear_error(self, tmp_path: Path, name: str, mmap: bool) -> None:
        path = written(tmp_path / "a", *DAMAGED[name])
        with pytest.raises(FileFormatError, match="is no whole file of the safetensors format"):
            fg.load(path, mmap=mmap)

    @pytest.mark.parametrize("length", [2**64 - 1, 2**63, 2**40, 99_999_999, 3, 0])
    def test_lengths_that_lie_allocate_nothing(self, tmp_path: Path, length: int) -> None:
        path = written(tmp_path / "a", {"x": F}, bytes(4), length)
        tracemalloc.start()
        with pytest.raises(FileFormatError):
            fg.load(path)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 1_000_000

    @pytest.mark.parametrize("mmap", [False, True])
    def test_every_way_to_cut_a_file_off(self, tmp_path: Path, mmap: bool) -> None:
        fg.save({"a": fg.ones(3), "b": [1, "x"]}, tmp_path / "whole")
        raw = (tmp_path / "whole").read_bytes()
        for size in range(len(raw)):
            (tmp_path / "cut").write_bytes(raw[:size])
            with pytest.raises(FileFormatError):
                fg.load(tmp_path / "cut", mmap=mmap)

    def test_changed_bytes_give_an_error_or_a_tree(self, tmp_path: Path) -> None:
        fg.save({"a": fg.ones(3), "b": [1, "x"], "c": np.float32(2)}, tmp_path / "whole")
        raw = (tmp_path / "whole").read_bytes()
        rng = np.random.default_rng(0)
        for _ in range(150):
            changed = bytearray(raw)
            for place in rng.integers(len(raw) - 40, size=rng.integers(1, 4)):
                changed[place] = rng.integers(256)
            (tmp_path / "a").write_bytes(changed)
            with contextlib.suppress(FileFormatError):
                fg.load(tmp_path / "a")

    def test_a_model_is_as_it_was(self, tmp_path: Path) -> None:
        model = nn.Linear(2, 2)
        before = model.weight.numpy().copy()
        fg.save({"weight": fg.ones(2, 2), "bias": fg.ones(3)}, tmp_path / "a")
        with pytest.raises(fg.errors.StateDictError, match="nothing was changed"):
            model.load_state_dict(fg.load(tmp_path / "a"))
        assert np.array_equal(model.weight.detach(), before)


@pytest.mark.parametrize("start", [b"PK\x03\x04", b"\x80\x02", b"\x80\x04\x95"])
def test_a_file_of_torch_save_is_named(tmp_path: Path, start: bytes) -> None:
    path = tmp_path / "model.pt"
    path.write_bytes(start + bytes(100))
    with pytest.raises(fg.errors.FileFormatError, match=r"file of torch.save, which is never run"):
        fg.load(path)


def test_words_of_pytorch_for_loading(tmp_path: Path) -> None:
    path = tmp_path / "x"
    fg.save({"w": fg.ones(2)}, path)
    for place in ("cpu", fg.device("cpu"), None):
        assert fg.load(path, map_location=place, weights_only=True)["w"].tolist() == [1, 1]
    with pytest.raises(fg.errors.ArgumentError, match='no device "cuda"'):
        fg.load(path, "cuda")
    with pytest.raises(fg.errors.ArgumentError, match="weights_only is False"):
        fg.load(path, weights_only=False)


def test_open_files_hold_the_same_bytes(tmp_path: Path) -> None:
    state = {"w": fg.arange(6.0).reshape(2, 3), "z": fg.ones(2) * 1j, "epoch": 3, "none": None}
    fg.save(state, tmp_path / "whole")
    memory = io.BytesIO()
    memory.write(b"head")
    fg.save(state, memory)
    assert memory.getvalue() == b"head" + (tmp_path / "whole").read_bytes()
    memory.seek(4)
    found = fg.load(memory)
    assert found["w"].tolist() == state["w"].tolist()
    assert (found["epoch"], found["none"]) == (3, None)
    found["w"].add_(1.0)
    with open(tmp_path / "opened", "wb") as file:
        fg.save(state, file)
    with open(tmp_path / "opened", "rb") as file:
        assert fg.load(file)["z"].tolist() == state["z"].tolist()
    with pytest.raises(ArgumentError, match="mmap=True of an open file; give its path"):
        fg.load(memory, mmap=True)
    for damaged in (b"", b"PK\x03\x04" + bytes(8), memory.getvalue()[4:-1]):
        with pytest.raises(FileFormatError, match="load: 'BytesIO' is no whole file"):
            fg.load(io.BytesIO(damaged))
