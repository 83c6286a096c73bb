"""Commands know the devices, passes and operators of plug-ins."""
import onnx


def test_devices_are_told(lathe, binary):
    (cpu,) = lathe("info", "--json").json["devices"]
    assert cpu["name"] == "cpu" and cpu["instruction_sets"][0] == "generic" and cpu["memory_total"] > cpu["memory_free"] > 0
    plugin = binary.parents[1] / "tests" / "fake_device.so"
    told = lathe("info", "--json", "--plugin", plugin).json["devices"]
    assert [d["name"] for d in told] == ["cpu", "fake"]
    assert told[1] == {
        "name": "fake", "description": "pages without access", "types": ["float32"], "instruction_sets": [],
        "details": [{"key": "units", "value": "1"}], "memory_total": 64 << 20, "memory_free": 64 << 20,
    }  # fmt: skip
    text = lathe("info", "--plugin", plugin).stdout
    assert "pages without access" in text and "elements float32" in text and "fake-double" in text
    passes = lathe("info", "--json", "--plugin", plugin).json["passes"]
    assert [(p["phase"], p["target"]) for p in passes if p["name"] == "fake-double"] == [("lowering", "fake")]
    assert lathe("info", "--plugin", "libm.so.6", "--json").json["error"]["code"] == "E3005"


def test_operators_of_plugins_are_known(lathe, binary, place):
    """check, and every form of inspect, know the operators that a plug-in brings."""
    plugin = binary.parents[1] / "tests" / "fake_device.so"
    x, y = (onnx.helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, [2, 3]) for n in "xy")
    node = onnx.helper.make_node("Scale", ["x"], ["y"], "grow", domain="fake")
    graph = onnx.helper.make_graph([node], "g", [x], [y])
    opsets = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("fake", 1)]
    onnx.save(onnx.helper.make_model(graph, opset_imports=opsets, ir_version=8), place / "scale.onnx")
    for command in (["check"], ["inspect"], ["inspect", "--steps"], ["inspect", "--text"]):
        assert lathe(*command, "scale.onnx").returncode == 1, command
        done = lathe(*command, "scale.onnx", "--plugin", plugin)
        assert done.returncode == 0, (command, done.stderr)
    assert "Scale" in lathe("inspect", "scale.onnx", "--text", "--plugin", plugin).stdout
    summary = lathe("inspect", "scale.onnx", "--plugin", plugin, "--json").json
    assert summary["operators"] == {"fake.Scale": 1} and summary["memory"]["total"] > 0
    assert lathe("build", "scale.onnx", "--plugin", plugin, "-o", "scale.lathe").returncode == 0
    assert lathe("check", "scale.lathe", "--plugin", plugin, "--json").json["error"]["code"] == "E6001"
