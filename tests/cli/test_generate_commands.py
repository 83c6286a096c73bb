"""`lathe generate`, `chat`, `perplexity`: text in, text out."""

import fcntl
import json
import os
import pty
import shutil
import signal
import subprocess
import termios
import time

import numpy as np
import pytest

from small_decoder import CONTEXT, WORDS, logits, write_decoder


def test_the_decoder_of_the_tests_is_the_one_described(place, tmp_path):
    write_decoder(tmp_path / "again")
    for file in (tmp_path / "again").iterdir():
        assert file.read_bytes() == (place / "decoder" / file.name).read_bytes(), file.name


def log_softmax(x):
    x = x - x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def greedy(ids, n, end=1):
    ids = list(ids)
    start = len(ids)
    while len(ids) < start + n:
        ids.append(int(logits(ids)[-1].argmax()))
        if ids[-1] == end:
            break
    return ids[start:]


def words(ids):
    return " ".join(f"w{i}" for i in ids)


def test_a_text_is_continued_as_the_model_says(lathe):
    made = lathe("generate", "decoder", "w3 w4 w5", "--max-tokens", 12, "--json", "--logprobs", 3).json
    expected = greedy([3, 4, 5], 12)
    assert [t["token"] for t in made["tokens"]] == expected
    assert made["text"] == words(t for t in expected if t != 1)
    assert made["usage"]["prompt_tokens"] == 3 and made["usage"]["generated_tokens"] == len(expected)
    first = log_softmax(logits([3, 4, 5]))[-1]
    assert [t["token"] for t in made["tokens"][0]["top"]] == list(np.argsort(-first)[:3])
    assert made["tokens"][0]["logprob"] == pytest.approx(first[expected[0]], abs=1e-5)
    plain = lathe("generate", "decoder", "w3 w4 w5", "--max-tokens", 12)
    assert plain.stdout == made["text"] + "\n" and "tokens of prompt" in plain.stderr
    assert lathe("generate", "decoder", "w3 w4 w5", "--max-tokens", 12, "--quiet").stderr == ""
    assert lathe("generate", "decoder", "-", "--max-tokens", 12, input="w3 w4 w5").stdout == plain.stdout


def test_what_is_asked_for_counts(lathe):
    def run(*options):
        return lathe("generate", "decoder", "w3 w4", "--json", "--ignore-eos", *options).json

    a, b = (run("--temperature", 1.5, "--seed", 3, "--max-tokens", 30) for _ in range(2))
    assert a["tokens"] == b["tokens"]
    pieces = run("--temperature", 1.5, "--seed", 3, "--max-tokens", 30, "--prompt-piece", 1, "--threads", 2)
    assert a["tokens"] == pieces["tokens"]
    assert a["tokens"] != run("--temperature", 1.5, "--seed", 4, "--max-tokens", 30)["tokens"]
    assert run("--seed", 3, "--greedy", "--max-tokens", 9)["tokens"] == run("--temperature", 0, "--max-tokens", 9)["tokens"]
    text = a["text"].split()
    stopped = run("--temperature", 1.5, "--seed", 3, "--max-tokens", 30, "--stop", " ".join(text[4:6]))
    assert stopped["finish_reason"] == "stop_string" and stopped["text"].split() == text[:4]
    assert run()["finish_reason"] == "length" and run()["usage"]["generated_tokens"] == CONTEXT - 2
    chat = lathe("generate", "decoder", "w3", "--chat", "--system", "w7", "--max-tokens", 4, "--json", "--ignore-eos").json
    assert [t["token"] for t in chat["tokens"]] == greedy([7, 3, 9], 4, None)


def test_a_plan_has_all_that_generation_needs(lathe):
    assert lathe("build", "decoder", "-o", "m.lathe").returncode == 0
    for command in (("generate", "w3 w4", "--max-tokens", 5), ("generate", "w3", "--chat", "--max-tokens", 5)):
        name, *rest = command
        assert lathe(name, "m.lathe", *rest, "--json").json["tokens"] == lathe(name, "decoder", *rest, "--json").json["tokens"]


def test_a_conversation_keeps_what_was_said(lathe):
    lines = lathe("chat", "decoder", "--say", "w3", "--max-tokens", 4, "--ignore-eos", input="w4\n/reset\nw5\n/exit\nw6\n")
    first = greedy([3, 9], 4, None)
    second = greedy([3, *first, 4, 9], 4, None)
    assert lines.stdout.splitlines() == [words(first), words(second), words(greedy([5, 9], 4, None))]


@pytest.fixture
def talk(binary, place):
    """Begins a conversation whose answers do not end of themselves: Conversation(arguments of chat, standard input)."""
    shutil.copytree(place / "decoder", place / "long")
    (place / "long/config.json").write_text('{"max_position_embeddings": 2000000}')
    begun = []

    class Conversation:
        def __init__(self, *arguments, **options):
            command = [str(binary), "chat", "long", "--ignore-eos", "--max-tokens", "1000000", "--threads", "1", *arguments]
            # What starts the tests may ignore signals, and so would the command.
            heed = lambda: [signal.signal(s, signal.SIG_DFL) for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
            pipes = dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0, preexec_fn=heed)
            self.child = subprocess.Popen(command, cwd=place, **{**pipes, **options})
            # It waits for its reader soon: answers stay short, however busy the machine is.
            fcntl.fcntl(self.child.stdout, fcntl.F_SETPIPE_SZ, 4096)
            begun.append(self.child)

        def until(self, done):
            """Reads what it answers until `done(text)`."""
            text = ""
            while not done(text):
                piece = os.read(self.child.stdout.fileno(), 1 << 16)
                assert piece, f"it has ended: {text[-200:]}"
                text += piece.decode()
            return text

        def interrupted(self, message, stop):
            """Says something, stops the answer once it has begun, and returns what there is of it."""
            os.write(self.input, f"{message}\n".encode())
            text = self.until(lambda text: len(text.split()) > 3)
            stop()
            text += "" if text.endswith("\n") else self.until(lambda text: text.endswith("\n"))
            return text.split()

        @property
        def input(self):
            return self.child.stdin.fileno()

    yield Conversation
    for child in begun:
        child.kill()
        child.communicate()


def continued(lathe, prompt, n):
    """The words of an answer of n tokens to a prompt of words, by `lathe generate`."""
    made = lathe("generate", "long", "-", "--max-tokens", n, "--ignore-eos", "--threads", 1, "--json", input=" ".join(prompt)).json
    return made["text"].split()


def test_ctrl_c_ends_an_answer_and_not_the_conversation(lathe, talk):
    here = talk()
    stop = lambda: here.child.send_signal(signal.SIGINT)
    first = here.interrupted("w3", stop)
    second = here.interrupted("w4", stop)
    os.write(here.input, b"/reset\n")
    third = here.interrupted("w5", stop)
    os.write(here.input, b"/exit\nw6\n")
    out, err = here.child.communicate(timeout=60)
    assert here.child.returncode == 0 and out == b"" and err.decode().count("ended by cancelled") == 3
    # What was said before counts, as far as it was said.
    assert first == continued(lathe, ["w3", "w9"], len(first))
    assert second == continued(lathe, ["w3", *first, "w4", "w9"], len(second))
    assert third == continued(lathe, ["w5", "w9"], len(third))


def seconds_of_work(child):
    """Processor time that a command has taken."""
    with open(f"/proc/{child.pid}/stat") as stat:
        return sum(map(int, stat.read().rpartition(")")[2].split()[11:13])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize("work", [0.03, 0.3], ids=["as it is encoded", "as it is computed"])
def test_ctrl_c_ends_an_answer_within_its_prompt(lathe, talk, work):
    here = talk()
    stop = lambda: here.child.send_signal(signal.SIGINT)
    first = here.interrupted("w3", stop)
    while b"ended by cancelled" not in os.read(here.child.stderr.fileno(), 1 << 16):
        pass
    before = seconds_of_work(here.child)
    message = " ".join(f"w{i * 7 % 29 + 2}" for i in range(100000)).encode() + b"\n"
    while message:
        message = message[os.write(here.input, message) :]
    while seconds_of_work(here.child) < before + work:
        assert here.child.poll() is None
        time.sleep(0.005)
    stop()
    assert here.until(lambda text: text.endswith("\n")) == "\n"
    os.write(here.input, b"/reset\n")
    third = here.interrupted("w5", stop)
    os.write(here.input, b"/exit\n")
    out, err = here.child.communicate(timeout=60)
    assert here.child.returncode == 0 and out == b"" and err.decode().count("ended by cancelled") == 2
    assert f"{len(first) + 100002} tokens of prompt" in err.decode() and ", 0 tokens, ended by cancelled" in err.decode()
    assert third == continued(lathe, ["w5", "w9"], len(third))


def test_ctrl_c_at_a_terminal(lathe, talk):
    ours, theirs = pty.openpty()

    def own_terminal():
        os.setsid()
        fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    here = talk("--say", "w3", stdin=theirs, preexec_fn=own_terminal)
    os.close(theirs)
    type(here).input = ours
    text = here.until(lambda text: len(text.split()) > 3)
    os.write(ours, b"\x03")
    first = (text + here.until(lambda text: text.endswith("\n"))).split()
    second = here.interrupted("w4", lambda: os.write(ours, b"\x03"))
    os.write(ours, b"/exit\n")
    out, err = here.child.communicate(timeout=60)
    os.close(ours)
    assert here.child.returncode == 0 and out == b""
    assert err.decode().count("ended by cancelled") == 2 and err.decode().count("> ") >= 2 and "/exit ends" in err.decode()
    assert second == continued(lathe, ["w3", *first, "w4", "w9"], len(second))


def test_between_answers_ctrl_c_ends_the_conversation(talk):
    here = talk()
    here.interrupted("w3", lambda: here.child.send_signal(signal.SIGINT))
    while b"ended by cancelled" not in os.read(here.child.stderr.fileno(), 1 << 16):
        pass
    here.child.send_signal(signal.SIGINT)
    assert here.child.wait(timeout=60) == -signal.SIGINT


@pytest.mark.parametrize("which", [signal.SIGTERM, signal.SIGHUP])
def test_other_signals_end_the_conversation_in_an_answer(talk, which):
    here = talk()
    os.write(here.input, b"w3\n")
    here.until(lambda text: len(text.split()) > 3)
    here.child.send_signal(which)
    out, err = here.child.communicate(timeout=60)
    assert here.child.returncode == 128 + which and b"ended by" not in err


def test_perplexity(lathe, place):
    ids = [int(w[1:]) for w in (place / "words.txt").read_text().split()]
    expected = -log_softmax(logits(ids))[np.arange(len(ids) - 1), ids[1:]].mean()
    made = lathe("perplexity", "decoder", "words.txt", "--json").json
    assert made["nll"] == pytest.approx(expected, abs=1e-5) and made["predicted"] == len(ids) - 1
    both = lathe("perplexity", "decoder", "words.txt", "--window", 7, "--against", "decoder", "--json").json
    assert both["windows"] == 6 and both["predicted"] == 40 - 6
    assert both["against"]["kl_divergence"] == 0 and both["against"]["same_first_choice"] == 1
    assert both["against"]["nll"] == pytest.approx(both["nll"], abs=1e-6)


@pytest.mark.parametrize(
    "arguments, code",
    [
        (("generate", "decoder", words(i % WORDS for i in range(80))), 1),
        (("generate", "decoder", ""), 2),
        (("generate", "absent", "w1"), 2),
        (("generate", "model.onnx", "w1"), 2),
        (("generate", "decoder", "w1", "--logprobs", "3"), 2),
        (("generate", "decoder", "w1", "--greedy", "--top-k", "3"), 2),
        (("generate", "decoder", "w1", "--min-tokens", "9", "--max-tokens", "4"), 2),
        (("build", "model.gguf", "-o", "m.lathe"), 2),
        (("perplexity", "decoder", "."), 2),
        (("generate", "decoder", "w1", "--temperature", "-1"), 2),
        (("generate", "decoder", "w1", "--top-p", "7"), 2),
        (("chat", "checkpoint"), 2),
        (("perplexity", "decoder", "absent.txt"), 2),
        (("perplexity", "decoder", "words.txt", "--window", "1"), 2),
    ],
)
def test_errors_say_who_is_at_fault(lathe, arguments, code):
    done = lathe(*arguments)
    assert done.returncode == code, done.stderr
    assert "error E" in done.stderr or code == 2


def test_a_prompt_beyond_the_context_is_refused_with_both_numbers(lathe):
    done = lathe("generate", "decoder", words(i % WORDS for i in range(80)))
    assert str(CONTEXT) in done.stderr and "80" in done.stderr


def test_what_is_no_decoder_is_named(lathe):
    done = lathe("generate", "model.onnx", "w1")
    assert "E6002" in done.stderr and "input_ids" in done.stderr and "text-generation-with-past" in done.stderr
    assert "GGUF" in lathe("check", "model.gguf").stderr


def test_a_plan_keeps_the_length_of_its_context(lathe):
    assert lathe("build", "decoder", "-o", "m.lathe").returncode == 0
    assert lathe("run", "m.lathe", "--json").json["outputs"][0]["name"] == "logits"
    told = lathe("inspect", "m.lathe", "--json").json["language_model"]
    assert told == {"context_length": CONTEXT, "vocabulary_size": WORDS, "tokenizer": True, "chat_template": True}
    assert f"contexts of {CONTEXT} tokens" in lathe("inspect", "m.lathe").stdout
    done = lathe("generate", "m.lathe", "w1", "--context", CONTEXT + 1)
    assert done.returncode == 2 and f"at most {CONTEXT}" in done.stderr
    assert lathe("generate", "m.lathe", "w1", "--context", 8, "--ignore-eos", "--json").json["usage"]["generated_tokens"] == 7


def test_an_answer_that_nobody_reads_ends(binary, place):
    shutil.copytree(place / "decoder", place / "long")
    (place / "long/config.json").write_text('{"max_position_embeddings": 2000000}')
    for command in (["generate", "long", "w3", "--ignore-eos"], ["chat", "long", "--say", "w3", "--say", "w4", "--ignore-eos"]):
        child = subprocess.Popen(
            [str(binary), *command, "--max-tokens", "1000000"], cwd=place, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert child.stdout.read(5)
        child.stdout.close()
        assert child.wait(timeout=60) == 2 and b"E1004" in child.stderr.read()
        child.stderr.close()


def test_a_message_that_does_not_fit_is_refused_alone(lathe, binary, place):
    long = words(i % WORDS for i in range(80))
    lines = f"{long}\nw4\n\udcff\n/reset\nw3\n"
    done = lathe("chat", "decoder", "--say", "w3", "--max-tokens", 4, "--ignore-eos", input=lines, errors="surrogateescape")
    first = greedy([3, 9], 4, None)
    assert done.stdout.splitlines() == [words(first), words(greedy([3, *first, 4, 9], 4, None)), words(first)]
    assert "E4106" in done.stderr and str(CONTEXT) in done.stderr and done.returncode == 1
    said = ["--say", long, "--say", "w3", "--max-tokens", "4", "--json"]
    output = subprocess.run([str(binary), "chat", "decoder", *said], cwd=place, input="", capture_output=True, text=True).stdout
    lines = [json.loads(line) for line in output.splitlines()]
    assert lines[0]["error"]["code"] == "E4106" and lines[1]["text"] == words(first)


def test_bench_of_a_language_model(lathe):
    usual = lathe("bench", "decoder", "--seconds", 0.1, "--json").json
    assert usual["prompt"]["tokens"] + usual["generate"]["tokens"] == CONTEXT
    assert lathe("build", "decoder", "-o", "m.lathe").returncode == 0
    assert lathe("bench", "m.lathe", "--seconds", 0.1, "--json").json["prompt"]["tokens"] == usual["prompt"]["tokens"]
    made = lathe("bench", "decoder", "--prompt", 20, "--generate", 10, "--seconds", 0.1, "--json").json
    assert made["rounds"] >= 3 and made["prompt"]["tokens"] == 20 and made["generate"]["tokens"] == 10
    assert made["generate"]["tokens_per_second"] == pytest.approx(10 / made["generate"]["seconds"])
    assert lathe("bench", "decoder", "--prompt", CONTEXT, "--generate", 1).returncode == 2
