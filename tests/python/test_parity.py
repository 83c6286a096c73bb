"""Python offers what C++ offers, except for a list of intended differences."""

import lathe
from documented import Interface, headers
from lathe import exporters, nn

# Python does the work of these classes in another way.
WITHOUT = {
    "Activation": "nn.Activation is called; its name is what it was made with",
    "BuildOptions": "keyword arguments of lathe.build, and BuilderConfig",
    "EncoderDecoderBaseOnnxConfig": "two configurations in one: of the library's own architectures",
    "Encoding": "a dataclass with a length",
    "Executor": "threads of Python would wait for the interpreter lock",
    "GeneratorMemory": "a dictionary",
    "MemoryInfo": "a dictionary",
    "ModelConfig": "config.json is a dictionary",
    "ModuleList": "a list of modules",
    "NamedTensors": "a dictionary",
    "NormalizedConfigKind": "the name of a kind, and keyword arguments",
    "NormalizedConfigManager": "NormalizedConfig.of",
    "Ops": "operators of tensors (+, @, …), calls of a network, and Module.op",
    "Ordered": "a dictionary",
    "ParameterValue": "Parameter.value",
    "Rope": "angles are what it is asked for",
    "RopeOptions": "keyword arguments",
    "Seq2SeqModel": "nn.Model.forward is given the inputs of what it is to be",
    "Size": "numbers and text",
    "Transaction": "with network.transaction():",
}

# Calls with another name: their place in the package.
ELSEWHERE = {
    "Checkpoint::at": "lathe.Checkpoint.info",
    "Checkpoint::contains": "lathe.Checkpoint.__contains__",
    "Checkpoint::open": "lathe.Checkpoint.__init__",
    "Checkpoint::tensor": "lathe.Checkpoint.__getitem__",
    "Checkpoint::tensors": "lathe.Checkpoint.names",
    "DummyInputGenerator::set_sequence_length": "exporters.DummyInputGenerator.__init__",  # an attribute
    "DummyInputGenerator::shapes": "exporters.DummyInputGenerator.__init__",  # attributes
    "DummyInputGenerator::supported_input_names": "exporters.DummyInputGenerator.SUPPORTED_INPUT_NAMES",
    "Engine::build": "lathe.build",
    "Engine::deserialize": "lathe.deserialize",
    "Engine::inputs": "lathe.Engine.__init__",  # an attribute
    "Engine::load": "lathe.load",
    "Engine::outputs": "lathe.Engine.__init__",  # an attribute
    "Generation::next": "lathe.Generation.__next__",
    "Generator::has_chat_template": "lathe.Generator.chat_template",
    "Generator::has_tokenizer": "lathe.Generator.tokenizer",
    "Generator::open": "lathe.Generator.__init__",
    "Layer::set_name": "lathe.Layer.name",
    "ModelRegistry::builtin": "nn.ModelRegistry.__init__",
    "Module::fields": "nn.Module.__setattr__",
    "Network::set_name": "lathe.Network.name",
    "NormalizedConfig::get": "exporters.NormalizedConfig.__getattr__",
    "NormalizedConfig::size": "exporters.NormalizedConfig.__getattr__",
    "NormalizedConfig::sizes": "exporters.NormalizedConfig.__getattr__",
    "OnnxConfig::atol_for_validation": "exporters.OnnxConfig.ATOL_FOR_VALIDATION",
    "OnnxConfig::config": "exporters.OnnxConfig.__init__",  # an attribute
    "OnnxConfig::default_onnx_opset": "exporters.OnnxConfig.DEFAULT_ONNX_OPSET",
    "OnnxConfig::dummy_input_generator_classes": "exporters.OnnxConfig.DUMMY_INPUT_GENERATOR_CLASSES",
    "OnnxConfig::file_inputs": "exporters.OnnxConfig.generate_dummy_inputs",
    "OnnxConfig::forward_arguments": "exporters.OnnxConfig.FORWARD_ARGUMENTS",
    "OnnxConfig::normalized_config_kind": "exporters.OnnxConfig.NORMALIZED_CONFIG",
    "OnnxConfig::options": "exporters.OnnxConfig.__init__",  # attributes
    "OnnxConfig::task": "exporters.OnnxConfig.__init__",  # an attribute
    "OnnxConfigWithPast::pad_attention_mask_to_past": "exporters.OnnxConfigWithPast.PAD_ATTENTION_MASK_TO_PAST",
    "OnnxConfigWithPast::use_past": "exporters.OnnxConfigWithPast.__init__",  # an attribute
    "OnnxConfigWithPast::use_past_in_inputs": "exporters.OnnxConfigWithPast.__init__",  # an attribute
    "OnnxSeq2SeqConfigWithPast::behavior": "exporters.OnnxSeq2SeqConfigWithPast.__init__",  # an attribute
    "Parameter::set_type": "nn.Parameter.dtype",
    "Parameter::type": "nn.Parameter.dtype",
    "RunControl::clear_deadline": "lathe.RunControl.clear_timeout",
    "RunControl::set_deadline": "lathe.RunControl.set_timeout",
    "State::bytes": "lathe.State.nbytes",
    "State::clone": "lathe.State.copy",
    "State::create": "lathe.Engine.create_states",
    "State::create_all": "lathe.Engine.create_states",
    "State::from": "lathe.State.assign",  # to a state that create_states made
    "State::tensor": "lathe.State.numpy",
    "State::type": "lathe.State.dtype",
    "TasksManager::models": "exporters.TasksManager.register",
    "TasksManager::register_config": "exporters.TasksManager.register",
    "TensorRef::element_type": "lathe.TensorRef.dtype",
    "TensorRef::has_rank": "lathe.TensorRef.rank",
    "TensorRef::set_name": "lathe.TensorRef.name",
    "TokenSequence::size": "lathe.TokenSequence.__len__",
    "ChatTemplate::open": "lathe.ChatTemplate.__init__",
    "Tokenizer::inputs": "lathe.Tokenizer.__call__",
    "Tokenizer::open": "lathe.Tokenizer.__init__",
    "Tokenizer::size": "lathe.Tokenizer.__len__",
    "chrome_trace": "lathe.Profile.save_trace",
    "write_chrome_trace": "lathe.Profile.save_trace",
    "write_profile_page": "lathe.Profile.save_page",
    "export_checkpoint": "exporters.export",
    "normalized_config": "exporters.NormalizedConfig",
    "normalized_encoder_decoder_config": "exporters.NormalizedConfig",
    "normalized_segformer_config": "exporters.NormalizedConfig",
    "normalized_seq2seq_config": "exporters.NormalizedConfig",
    "normalized_text_and_vision_config": "exporters.NormalizedConfig",
    "normalized_text_config": "exporters.NormalizedConfig",
    "normalized_text_config_with_gqa": "exporters.NormalizedConfig",
    "normalized_time_series_forecasting_config": "exporters.NormalizedConfig",
    "normalized_vision_config": "exporters.NormalizedConfig",
}

# Calls that Python does not offer, and why.
WANTED = {
    "Engine::impl": "for the library's own rooms",
    "Linear::transposed": "what it was made with",
    "NormalizedConfig::config": "the dictionary that it was made of",
    "NormalizedConfig::decoder": "configs of two models are the library's own",
    "NormalizedConfig::encoder": "configs of two models are the library's own",
    "NormalizedConfig::set_decoder": "configs of two models are the library's own",
    "NormalizedConfig::set_encoder": "configs of two models are the library's own",
    "OnnxConfig::create_dummy_input_generators": "an export calls it",
    "OnnxConfig::flatten_past_key_values": "an export calls it",
    "OnnxConfig::generate_dummy_inputs_for_validation": "an export calls it",
    "OnnxConfig::merged_submodels": "what an export makes of an architecture's files is the library's own",
    "OnnxConfig::ordered_inputs": "an export calls it",
    "OnnxConfig::rename_ambiguous_inputs": "`inputs` may say any names",
    "OnnxConfig::set_constructor": "the class itself",
    "OnnxConfig::set_variant": "export(variant=…)",
    "OnnxConfig::submodels": "what an export makes of an architecture's files is the library's own",
    "OnnxConfig::supports_past": "classes that derive from OnnxConfigWithPast do",
    "OnnxConfig::torch_to_onnx_input_map": "`inputs` may say any names",
    "OnnxConfig::torch_to_onnx_output_map": "`outputs` may say any names",
    "OnnxConfig::variant": "export(variant=…)",
    "OnnxConfig::variants": "export(variant=…)",
    "OnnxConfig::with_options": "the class itself",
    "Roofline::level_for": "least_seconds uses it",
    "State::data": "State.numpy copies: an array could not follow a state that grows or is cleared",
    "State::defined": "a State of Python is made with its type",
    "TasksManager::builtin": "every TasksManager begins with what the library brings",
    "TasksManager::get_exporter_config_constructor": "the library's configurations are C++'s",
    "TasksManager::make": "the library's configurations are C++'s",
    "alibi_slopes": "alibi_bias is made of them",
    "compare_with_recorded": "export(reference=…)",
    "gelu_tanh": "activate(module, 'gelu_new', x)",
    "generator_class": "the class itself",
    "initialize": "importing the package does it",
    "make_config": "the class itself",
    "name_of": "enumerations have names",
    "safetensors_can_hold": "save_safetensors raises",
    "validate": "export validates",
}

NAMES = {"ShapeProfile": "OptimizationProfile"}


def place_of(owner, name):
    """Returns the object of the package that has a call of a header; None if there is none."""
    owner = NAMES.get(owner, owner)
    for module in (lathe, nn, exporters):
        where = getattr(module, owner, None) if owner else module
        if where is not None and hasattr(where, name):
            return where
    return None


def found(place):
    at = {"lathe": lathe, "nn": nn, "exporters": exporters}[place.split(".")[0]]
    for name in place.split(".")[1:]:
        at = getattr(at, name)
    return at


def test_python_has_what_the_headers_have():
    calls = Interface(headers()).returns
    assert len(calls) > 400
    missing = []
    for call in sorted(calls):
        owner, _, name = call.rpartition("::")
        if owner not in WITHOUT and call not in ELSEWHERE and call not in WANTED and place_of(owner, name) is None:
            missing.append(call)
    assert missing == []


def test_the_lists_of_differences_are_true():
    """No entry of what is gone from the headers, or there in the package by now."""
    calls = Interface(headers()).returns
    classes = {call.rpartition("::")[0] for call in calls}
    assert set(WITHOUT) <= classes and set(ELSEWHERE) <= set(calls) and set(WANTED) <= set(calls)
    assert not set(ELSEWHERE) & set(WANTED)
    assert [place for place in ELSEWHERE.values() if found(place) is None] == []
    there = [call for call in [*ELSEWHERE, *WANTED] if place_of(*call.rpartition("::")[::2]) is not None]
    assert there == []
