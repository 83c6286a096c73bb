"""Tests where files are written, what is left when a command is killed, and that failed output is reported."""

import json
import os
import resource
import signal
import stat
import subprocess
import threading
import time

import numpy as np
import onnx
import onnx.helper as oh
import onnx.parser
import pytest

from small_model import FLOAT, small_model

WRITERS = {
    "convert": ("convert", "model.onnx", "-o"),
    "build": ("build", "model.onnx", "-o"),
    "refit": ("refit", "refittable.lathe", "--weights", "weights.npz", "-o"),
    "timings": ("timings", "timings.json", "-o"),
    "page": ("profile", "model.onnx", "--runs", "1", "-o"),
    "trace": ("profile", "model.onnx", "--runs", "1", "--trace"),
}
SAME_EVERY_TIME = ("convert", "build", "refit", "timings")


@pytest.fixture
def writers(lathe):
    assert lathe("build", "model.onnx", "--refit", "-o", "refittable.lathe").returncode == 0
    return WRITERS


def plain_bytes(lathe, place, words):
    assert lathe(*words, "plain").returncode == 0
    return (place / "plain").read_bytes()


@pytest.mark.parametrize("name", WRITERS)
def test_links_are_followed(lathe, place, writers, name):
    (place / "folder").mkdir()
    (place / "folder" / "old").write_text("old")
    (place / "link").symlink_to("folder/old")
    (place / "again").symlink_to("link")
    (place / "dangling").symlink_to("folder/new")
    for link, target in (("again", "old"), ("dangling", "new")):
        done = lathe(*writers[name], link)
        assert done.returncode == 0, done.stderr
        assert (place / link).is_symlink() and not (place / "folder" / target).is_symlink()
        assert (place / "folder" / target).stat().st_size > 50
    assert (place / "link").is_symlink()
    assert sorted(os.listdir(place / "folder")) == ["new", "old"]


@pytest.mark.parametrize("name", WRITERS)
def test_mode_and_owner_stay(lathe, place, writers, name):
    (place / "old").write_text("old")
    (place / "old").chmod(0o604)
    if os.geteuid() == 0:
        os.chown(place / "old", 1234, 4321)
    before = (place / "old").stat()
    assert lathe(*writers[name], "old").returncode == 0
    after = (place / "old").stat()
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
    assert after.st_size > 50
    assert lathe(*writers[name], "fresh").returncode == 0
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE((place / "fresh").stat().st_mode) == 0o666 & ~mask


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_a_file_in_a_folder_of_others_gets_other_contents(binary, lathe, place):
    expected = plain_bytes(lathe, place, WRITERS["convert"])
    folder = place / "folder"
    folder.mkdir()
    (folder / "mine").write_text("old" * 10000)
    (folder / "theirs").write_text("old")
    os.chown(folder / "mine", 65534, 65534)
    for path in (place, *place.parents):
        if os.stat(path).st_uid == 0 and path != path.parent and not os.stat(path).st_mode & stat.S_IXOTH:
            path.chmod(os.stat(path).st_mode | stat.S_IXOTH)
    before = (folder / "mine").stat()
    run = lambda target: subprocess.run(  # noqa: E731
        [binary, "convert", "model.onnx", "-o", f"folder/{target}"], cwd=place, user=65534, group=65534, extra_groups=[], capture_output=True, text=True
    )
    done = run("mine")
    assert done.returncode == 0, done.stderr
    after = (folder / "mine").stat()
    assert (after.st_ino, after.st_uid) == (before.st_ino, before.st_uid)
    assert (folder / "mine").read_bytes() == expected
    assert run("theirs").returncode == 2 and (folder / "theirs").read_text() == "old"
    assert run("new").returncode == 2 and not (folder / "new").exists()


@pytest.mark.parametrize("name", WRITERS)
def test_pipes_and_devices_are_written_to(lathe, place, writers, name):
    os.mkfifo(place / "pipe")
    got = []
    reader = threading.Thread(target=lambda: got.append((place / "pipe").read_bytes()))
    reader.start()
    done = lathe(*writers[name], "pipe")
    reader.join()
    assert done.returncode == 0, done.stderr
    assert stat.S_ISFIFO((place / "pipe").stat().st_mode)
    if name in SAME_EVERY_TIME:
        assert got[0] == plain_bytes(lathe, place, writers[name])
    else:
        assert len(got[0]) > 50
    for device, code in (("/dev/null", 0), ("/dev/full", 2)):
        (place / "device").symlink_to(device)  # what is a link to it is not lost where this fails
        done = lathe(*writers[name], "device")
        assert done.returncode == code, done.stderr
        assert os.readlink(place / "device") == device and stat.S_ISCHR((place / "device").stat().st_mode)
        if code:
            assert "No space left" in done.stderr and "E9001" not in done.stderr
        (place / "device").unlink()


@pytest.mark.parametrize("target", ["-", "/dev/stdout", "/dev/fd/1"])
@pytest.mark.parametrize("name", WRITERS)
def test_standard_output(binary, lathe, place, writers, name, target):
    done = subprocess.run([binary, *writers[name], target, "--json"], cwd=place, capture_output=True)
    assert done.returncode == 0, done.stderr
    said = done.stderr.decode()  # goes the other way, with what is told of progress
    assert json.loads(said[said.index("{") :])
    if name in SAME_EVERY_TIME:
        assert done.stdout == plain_bytes(lathe, place, writers[name])
    else:
        assert len(done.stdout) > 50
    with open(place / "redirected", "wb") as out:
        out.write(b"before")
        out.flush()
        done = subprocess.run([binary, *writers[name], target], cwd=place, stdout=out, stderr=subprocess.PIPE)
    assert done.returncode == 0 and (place / "redirected").read_bytes().startswith(b"before")
    assert not (place / "-").exists()


def test_a_model_on_standard_output_is_one_file(binary, lathe, place):
    done = lathe("convert", "model.onnx", "-o", "-", "--external-data")  # what it says is text
    assert done.returncode == 1 and "E1201" in done.stderr and "one file" in done.stderr
    assert lathe("convert", "model.onnx", "-o", "two.onnx", "--external-data", "--threshold", "0").returncode == 0
    done = subprocess.run([binary, "convert", "two.onnx", "-o", "/dev/stdout"], cwd=place, capture_output=True)
    assert done.returncode == 0 and not os.path.exists("/dev/stdout.data")
    assert onnx.load_from_string(done.stdout).graph.initializer[0].raw_data


@pytest.mark.parametrize("words", ["convert model.onnx -o folder", "build model.onnx -o folder"])
def test_a_folder_is_no_target(lathe, place, words):
    (place / "folder").mkdir()
    done = lathe(*words.split())
    assert done.returncode == 2 and "a folder" in done.stderr
    assert os.listdir(place / "folder") == []


def large_model(place, name="large.onnx", megabytes=384, value=1, data="weights.bin"):
    """A model of one product whose weights are so large that writing them takes a while."""
    size = megabytes << 20
    model = small_model()
    weight = model.graph.initializer[0]
    weight.ClearField("raw_data")
    weight.dims[:] = [3, size // 12]
    weight.data_location = onnx.TensorProto.EXTERNAL
    model.graph.initializer[1].CopyFrom(onnx.numpy_helper.from_array(np.ones(1, np.float32), model.graph.initializer[1].name))
    model.graph.output[0].type.tensor_type.shape.dim[1].dim_value = size // 12
    for key, text in (("location", data), ("length", str(size // 12 * 12))):
        weight.external_data.add(key=key, value=text)
    onnx.save(model, place / name)
    with open(place / data, "wb") as f:
        for _ in range(megabytes):
            f.write(bytes([value]) * (1 << 20))


@pytest.mark.parametrize("which", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("words", ["convert large.onnx -o out.onnx --single-file", "convert large.onnx -o out.onnx --external-data", "build large.onnx -o out.onnx"])
def test_a_signal_leaves_nothing_half_written(binary, place, words, which):
    large_model(place, megabytes=96 if words.startswith("build") else 384)
    before = set(os.listdir(place))
    # What starts the tests may ignore hangups, as nohup does, and so would the command.
    heed = lambda: signal.signal(which, signal.SIG_DFL)
    child = subprocess.Popen([str(binary), *words.split()], cwd=place, stderr=subprocess.PIPE, text=True, preexec_fn=heed)
    while child.poll() is None and not any(f.stat().st_size for f in place.glob("out.onnx*.tmp")):
        time.sleep(0.001)
    child.send_signal(which)
    child.communicate(timeout=60)
    assert child.returncode == -which
    assert set(os.listdir(place)) == before


@pytest.mark.parametrize("which", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_an_export_without_traces(binary, place, which):
    before = set(os.listdir(place))
    child = subprocess.Popen([str(binary), "export", "checkpoint", "-o", "exported"], cwd=place, stderr=subprocess.PIPE)
    while child.poll() is None and not list(place.glob("exported.*.tmp")):
        time.sleep(0.0005)
    child.send_signal(which)
    child.communicate(timeout=60)
    if child.returncode == 0:
        pytest.skip("it was done before the signal came")
    assert child.returncode == -which
    assert set(os.listdir(place)) == before


def test_a_signal_ends_a_wait_for_a_reader(binary, place):
    os.mkfifo(place / "pipe")
    child = subprocess.Popen([str(binary), "convert", "model.onnx", "-o", "pipe"], cwd=place, stderr=subprocess.PIPE)
    time.sleep(0.3)
    assert child.poll() is None
    child.send_signal(signal.SIGTERM)
    child.communicate(timeout=30)
    assert child.returncode == -signal.SIGTERM


def test_ignored_signals_stay_ignored(binary, place):
    large_model(place, megabytes=64)
    child = subprocess.Popen(
        [str(binary), "convert", "large.onnx", "-o", "out.onnx", "--single-file"],
        cwd=place, stdout=subprocess.PIPE, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
    )  # fmt: skip
    time.sleep(0.02)
    child.send_signal(signal.SIGHUP)
    child.communicate(timeout=60)
    assert child.returncode == 0 and (place / "out.onnx").exists()


def values_of(place, name):
    """The bytes that a model's weights consist of."""
    weight = onnx.load(place / name).graph.initializer[0]
    return set(np.unique(np.frombuffer(weight.raw_data, np.uint8)))


def test_an_old_model_never_stands_beside_new_data(binary, lathe, place):
    """Killed wherever it is, a conversion leaves the old pair or the new one."""
    for value in (1, 2):
        large_model(place, f"large{value}.onnx", megabytes=8, value=value, data=f"weights{value}.bin")
    words = ("--external-data", "--threshold", "0")
    assert lathe("convert", "large1.onnx", "-o", "out.onnx", *words).returncode == 0
    usual = set(os.listdir(place))
    seen = set()
    start = time.monotonic()
    assert lathe("convert", "large2.onnx", "-o", "out.onnx", *words).returncode == 0
    took = time.monotonic() - start
    assert values_of(place, "out.onnx") == {2} and set(os.listdir(place)) == usual
    for attempt in range(24):
        value = 1 + attempt % 2
        child = subprocess.Popen([str(binary), "convert", f"large{value}.onnx", "-o", "out.onnx", *words], cwd=place, stdout=subprocess.DEVNULL)
        time.sleep(took * (0.3 + 0.03 * attempt))
        child.kill()
        child.wait()
        got = values_of(place, "out.onnx")
        assert got in ({1}, {2})
        seen.add(frozenset(got))
    assert lathe("convert", "large1.onnx", "-o", "out.onnx", *words).returncode == 0
    assert values_of(place, "out.onnx") == {1}
    location = {e.key: e.value for e in onnx.load(place / "out.onnx", load_external_data=False).graph.initializer[0].external_data}
    assert location["location"] == "out.onnx.data"


COMMANDS = {
    "check": "check model.onnx",
    "inspect": "inspect model.onnx",
    "run": "run model.onnx",
    "verify": "verify model.onnx --seconds 0.5",
    "bench": "bench model.onnx --seconds 0.05",
    "profile": "profile model.onnx --runs 1",
    "build": "build model.onnx",
    "timings": "timings timings.json",
    "convert": "convert model.onnx -o out.onnx",
    "export": "export checkpoint -o exported --no-validation",
    "tokenize": "tokenize tokenizer.json text",
    "generate": "generate decoder w3 --max-tokens 3",
    "chat": "chat decoder --say w3 --max-tokens 3",
    "perplexity": "perplexity decoder words.txt",
    "ops": "ops",
    "info": "info",
    "help": "--help",
    "help of one": "run --help",
    "version": "--version",
    "an error": "check absent.onnx --json",
}


def closed_pipe():
    read, write = os.pipe()
    os.close(read)
    return write


@pytest.mark.parametrize("form", ["", "--json"])
@pytest.mark.parametrize("name", COMMANDS)
def test_a_full_standard_output_is_noticed(binary, place, name, form):
    words = COMMANDS[name].split()
    if form and not words[0].startswith("-") and "--help" not in words and form not in words:
        words.append(form)
    for opened in (lambda: os.open("/dev/full", os.O_WRONLY), closed_pipe):
        out = opened()
        done = subprocess.run([binary, *words], cwd=place, stdout=out, stderr=subprocess.PIPE, text=True)
        os.close(out)
        assert done.returncode == 2, done.stderr
        assert "standard output" in done.stderr and "E9001" not in done.stderr, done.stderr


def test_a_closed_standard_output_is_noticed(binary, place):
    done = subprocess.run(["sh", "-c", f"{binary} check model.onnx >&-"], cwd=place, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2 and "standard output" in done.stderr
    done = subprocess.run(["sh", "-c", f"{binary} convert model.onnx -o out.onnx >&- 2>&- <&-"], cwd=place)
    assert done.returncode == 2
    onnx.checker.check_model(onnx.load(place / "out.onnx"))


def test_a_full_standard_error_is_borne(binary, place):
    with open("/dev/full", "w") as full:
        done = subprocess.run([binary, "check", "absent.onnx"], cwd=place, stderr=full)
        assert done.returncode == 2
        done = subprocess.run([binary, "verify", "model.onnx", "--seconds", "2"], cwd=place, stderr=full, stdout=subprocess.PIPE)
        assert done.returncode == 0


def without_threads():
    # No thread gets a stack of that size.
    resource.setrlimit(resource.RLIMIT_STACK, (1 << 46, resource.getrlimit(resource.RLIMIT_STACK)[1]))


@pytest.mark.skipif(resource.getrlimit(resource.RLIMIT_STACK)[1] != resource.RLIM_INFINITY, reason="stacks are limited")
@pytest.mark.parametrize("name", [n for n in COMMANDS if n != "an error"])
def test_no_thread_to_be_had_is_no_error(binary, place, name):
    done = subprocess.run([binary, *COMMANDS[name].split()], cwd=place, preexec_fn=without_threads, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_memory_is_limited(lathe, place):
    shape = onnx.helper.make_tensor_value_info("n", onnx.TensorProto.INT64, [1])
    out = oh.make_tensor_value_info("y", FLOAT, None)
    nodes = [oh.make_node("ConstantOfShape", ["n"], ["y"])]
    onnx.save(oh.make_model(oh.make_graph(nodes, "g", [shape], [out]), opset_imports=[oh.make_opsetid("", 17)], ir_version=8), place / "huge.onnx")
    np.save(place / "n.npy", np.array([16 << 20], np.int64))
    words = ("huge.onnx", "--input", "n=n.npy")
    for command in ("run", "bench", "profile"):
        extra = () if command == "run" else ("--seconds", "0.05")
        done = lathe(command, *words, "--memory-limit", "32M", *extra)
        assert done.returncode == 1 and "E4105" in done.stderr, done.stderr
    for size in ("512M", "512MiB", "0.5G", "1g", "1GB", str(1 << 29)):
        done = lathe("run", *words, "--memory-limit", size)
        assert done.returncode == (2 if "." in size else 0), done.stderr
    for size in ("0", "-1", "much", "12X", "99999999T", ""):
        done = lathe("run", *words, f"--memory-limit={size}")
        assert done.returncode == 2 and "--memory-limit" in done.stderr
    for command in ("build model.onnx", "verify model.onnx --seconds 1", "convert model.onnx -o out.onnx --optimize", "export checkpoint -o exported --no-validation"):
        assert lathe(*command.split(), "--memory-limit", "1G").returncode == 0


def test_what_is_folded_is_limited_too(lathe, place):
    """The results of folding count against --memory-limit, as against --fold-limit."""
    size = onnx.numpy_helper.from_array(np.array([8 << 20], np.int64), "size")
    nodes = [oh.make_node("ConstantOfShape", ["size"], ["zeros"]), oh.make_node("Cos", ["zeros"], ["ones"]), oh.make_node("Mul", ["x", "ones"], ["y"])]
    x, y = (oh.make_tensor_value_info(n, FLOAT, s) for n, s in (("x", [1]), ("y", [8 << 20])))
    onnx.save(oh.make_model(oh.make_graph(nodes, "g", [x], [y], [size]), opset_imports=[oh.make_opsetid("", 17)], ir_version=8), place / "folded.onnx")
    sizes = []
    for words in ((), ("--memory-limit", "16M")):
        assert lathe("build", "folded.onnx", "-o", "folded.lathe", *words).returncode == 0
        sizes.append((place / "folded.lathe").stat().st_size)
    assert sizes[0] > 16 << 20 > sizes[1]


def test_plug_ins_are_found_by_their_paths_alone(lathe, place):
    (place / "elsewhere").mkdir()
    (place / "elsewhere" / "plugin.so").write_text("no library")
    done = lathe("run", "model.onnx", "--plugin", "plugin.so", env={**os.environ, "LD_LIBRARY_PATH": str(place / "elsewhere")})
    assert done.returncode != 0 and "./plugin.so" in done.stderr and "elsewhere" not in done.stderr
    done = lathe("run", "model.onnx", "--plugin", "libm.so.6")
    assert done.returncode != 0 and "./libm.so.6" in done.stderr and "lathe_plugin_abi" not in done.stderr


def test_plans_are_told_by_what_they_begin_with(lathe, place):
    assert lathe("build", "model.onnx", "-o", "plan.onnx").returncode == 0
    assert lathe("run", "plan.onnx").returncode == 0 and lathe("check", "plan.onnx").returncode == 0
    done = lathe("build", "plan.onnx", "-o", "other.lathe")
    assert done.returncode == 2 and "a plan" in done.stderr
    (place / "model.lathe").write_bytes((place / "model.onnx").read_bytes())
    done = lathe("run", "model.lathe")
    assert done.returncode == 1 and "lathe build MODEL" in done.stderr


def test_sizes_that_were_assumed_are_told_of(lathe, place):
    x, y = (oh.make_tensor_value_info(n, FLOAT, s) for n, s in (("x", ["batch", 4]), ("y", ["half", 8])))
    shape = onnx.numpy_helper.from_array(np.array([-1, 8], np.int64), "shape")
    graph = oh.make_graph([oh.make_node("Reshape", ["x", "shape"], ["y"])], "g", [x], [y], [shape])
    onnx.save(oh.make_model(graph, opset_imports=[oh.make_opsetid("", 17)], ir_version=8), place / "pairs.onnx")
    for command in ("run", "bench", "profile"):
        done = lathe(command, "pairs.onnx")
        assert done.returncode == 1 and "--shape batch=2" in done.stderr and "taken as 1" in done.stderr
    assert lathe("run", "pairs.onnx", "--shape", "batch=2").returncode == 0
    limited = lathe("run", "model.onnx", "--memory-limit", "1")
    assert limited.returncode == 1 and "E4105" in limited.stderr and "taken as 1" not in limited.stderr


def test_names_that_are_no_text_are_said(binary, place):
    model = small_model()
    model.graph.node[0].name = "PLACEHOLDER"
    model.graph.node[0].op_type = "Unheard"
    data = model.SerializeToString().replace(b"PLACEHOLDER", b"\xff\xfe\x80n\xc3(me\xed\xa0")
    (place / "odd.onnx").write_bytes(data)
    for command in ("check", "inspect", "run", "build", "verify"):
        done = subprocess.run([binary, command, "odd.onnx", "--json"], cwd=place, capture_output=True)
        assert done.returncode in (0, 1)
        json.loads(done.stdout.decode("utf-8"))
        assert b"E9001" not in done.stderr


NUMPY_LACKS = ("BFLOAT16", "FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ", "FLOAT8E8M0", "INT4", "UINT4", "INT2", "UINT2", "FLOAT4E2M1")


@pytest.mark.parametrize("name", NUMPY_LACKS)
def test_types_that_numpy_lacks_come_back(lathe, place, name):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    element = getattr(onnx.TensorProto, name)
    x, y = (oh.make_tensor_value_info(n, element, [2, 3]) for n in ("x", "y"))
    graph = oh.make_graph([oh.make_node("Identity", ["x"], ["y"])], "g", [x], [y])
    model = oh.make_model(graph, opset_imports=[oh.make_opsetid("", 25)], ir_version=13)
    onnx.save(model, place / "same.onnx")
    lowest = 0 if name.startswith("U") else -2
    numbers = np.array([[0.5, 1, 2], [4, 1, 2]] if "E8M0" in name else [[0, 1, lowest], [1, lowest, 0]] if "INT" in name else [[0, 1, -2], [0.5, 1.5, -1]])
    for saved in (numbers.astype(np.float32) if "FLOAT" in name else numbers.astype(np.int8 if name[0] == "I" else np.uint8),
                  numbers.astype(oh.tensor_dtype_to_np_dtype(element))):  # fmt: skip
        np.save(place / "in.npy", saved)
        done = lathe("run", "same.onnx", "--input", "x=in.npy", "--output-dir", "out")
        assert done.returncode == 0, done.stderr
        written = np.load(place / "out" / "y.npy")
        np.testing.assert_array_equal(written.astype(np.float64), numbers)
        os.replace(place / "out" / "y.npy", place / "out" / "x.npy")
        np.save(place / "out" / "y.npy", written)
        done = lathe("run", "same.onnx", "--inputs", "out", "--expect", "out")
        assert done.returncode == 0 and "as expected" in done.stdout, done.stderr + done.stdout
    assert ml_dtypes
    np.save(place / "in.npy", np.full((2, 3), 0.3, np.float32) if "FLOAT" in name else np.full((2, 3), 100, np.int8 if name[0] == "I" else np.uint8))
    done = lathe("run", "same.onnx", "--input", "x=in.npy")
    assert done.returncode != 0 and "E9001" not in done.stderr  # other numbers are not made of them


@pytest.mark.parametrize("name", ["m.tflite", "m.TFLite", "m.gguf", "m.xml", "m.engine", "m.pt", "m.safetensors", "m.json"])
def test_a_model_is_not_written_under_the_name_of_another_format(lathe, place, name):
    """The contents of such a file would not have the format that its name tells."""
    for words in ((), ("--optimize",), ("--opset", "17")):
        run = lathe("convert", "model.onnx", "-o", name, *words)
        assert run.returncode != 0 and "E6001" in run.stderr and ".onnx" in run.stderr and name in run.stderr
    assert not (place / name).exists()


@pytest.mark.parametrize("name", ["m", "m.pb", "tmp.x8Kd2", "m.v2", "m.onnx.part"])
def test_other_names_are_models(lathe, place, name):
    assert lathe("convert", "model.onnx", "-o", name).returncode == 0
    onnx.checker.check_model(onnx.load_model_from_string((place / name).read_bytes()))


def test_what_repeats_is_not_written_out(lathe, place):
    """A model of some hundred bytes stays one: as nodes in a file, and in a plan."""
    text = """<ir_version: 8, opset_import: ["": 17]> g (float[1] x) => (float y) <int64[2] s = {8192, 1024}, int64[2] r = {8, 1}> {
        a = ConstantOfShape(s) b = Tile(a, r) u = Add(b, x) y = ReduceMax<keepdims=0>(u) }"""
    onnx.save(onnx.parser.parse_model(text), place / "repeats.onnx")
    assert lathe("convert", "repeats.onnx", "-o", "o.onnx", "--optimize").returncode == 0
    assert lathe("build", "repeats.onnx", "-o", "o.lathe").returncode == 0
    assert (place / "o.onnx").stat().st_size < 4096 and (place / "o.lathe").stat().st_size < 65536
