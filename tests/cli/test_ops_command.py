"""Tests `lathe ops`: operators, their folders, kernels and internal forms."""


def test_ops(lathe):
    j = lathe("ops", "Softmax", "--json").json["operators"]
    assert [o["name"] for o in j] == ["Softmax"]
    assert [v["since"] for v in j[0]["versions"]] == [1, 11, 13]
    assert j[0]["kernels"][-1]["backend"] == "reference"
    assert len(lathe("ops", "--json").json["operators"]) > 100


def test_ops_prints_folders_and_internal_forms(lathe):
    (conv,) = lathe("ops", "Conv", "--json").json["operators"]
    forms = {form["name"]: form for form in conv["internal_forms"]}
    assert conv["folder"] == "conv"
    assert set(forms) == {"Bf16BlockedConv", "BlockedConv", "BlockedConvDepthwise", "BlockedInt8Conv"}
    assert forms["Bf16BlockedConv"]["folder"] == "blocked_conv" and "blocked_int8_conv" in str(forms["BlockedInt8Conv"]["kernels"])
    text = lathe("ops", "Conv").stdout
    assert "folder src/ops/conv\n" in text and "may run as\n" in text and "BlockedConv (src/ops/blocked_conv)\n" in text
    (relu,) = lathe("ops", "Relu", "--json").json["operators"]
    assert [form["name"] for form in relu["internal_forms"]] == ["Pointwise"]
    (det,) = lathe("ops", "Det", "--json").json["operators"]
    assert det["internal_forms"] == [] and "may run as" not in lathe("ops", "Det").stdout
