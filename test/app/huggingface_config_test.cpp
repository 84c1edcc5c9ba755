// A config.json of transformers gives the text of a model.
#include <gtest/gtest.h>

#include <fstream>

#include "app/resume/huggingface_model.h"
#include "eave/check.h"
#include "eave/model.h"
#include "nn/graph.h"
#include "test/expectations.h"
#include "test/temporary_directory.h"

namespace eave {
namespace {

struct ConfigOfTransformers : testing::Test {
  void write(const std::string& json) const { std::ofstream(directory.path() / "config.json") << json; }
  std::string text_of(const std::string& json) const {
    write(json);
    return model_text_of_option(directory.path());
  }
  void expect_refused(ExitCode code, const std::string& json, const std::string& says) const {
    SCOPED_TRACE(json);
    write(json);
    expect_error(code, says, [&] { model_text_of_option(directory.path()); });
  }

  const TemporaryDirectory directory;
};

TEST_F(ConfigOfTransformers, has_the_values_of_gpt2_for_entries_that_are_not_there) {
  EXPECT_EQ(text_of(R"({"model_type": "gpt2", "embd_pdrop": 0, "attn_pdrop": 0.0, "resid_pdrop": 0})"),
            model_specification("gpt2"));
  write(R"({"model_type": "gpt2", "n_inner": null})");
  const HuggingfaceConfig usual = read_huggingface_config(directory.path() / "config.json");
  EXPECT_EQ(usual.classes, 50257);
  EXPECT_EQ(usual.context, 1024);
  EXPECT_EQ(usual.form.attention_dropout, 0.1F);
}

TEST_F(ConfigOfTransformers, of_gpt2_gives_each_number_its_place) {
  EXPECT_EQ(text_of(R"({"model_type": "gpt2", "n_layer": 1, "n_embd": 6, "n_head": 3, "n_inner": 10, "n_positions": 7,
                        "activation_function": "gelu", "layer_norm_epsilon": 1e-06, "embd_pdrop": 0.1,
                        "attn_pdrop": 0.2, "resid_pdrop": 0.3, "initializer_range": 0.1, "tie_word_embeddings": false,
                        "vocab_size": 11, "torch_dtype": "float16", "bos_token_id": null})"),
            "embedding 6 positions 7 deviation 0.1; dropout 0.1; repeat 1 (residual(layer_norm epsilon 1e-06; linear "
            "18 deviation 0.1; "
            "attention 3 dropout 0.2; linear 6 deviation 0.0707107; dropout 0.3); residual(layer_norm epsilon 1e-06; "
            "linear 10 deviation 0.1; gelu; linear 6 deviation 0.0707107; dropout 0.3)); layer_norm epsilon 1e-06; "
            "linear classes no_bias deviation 0.1");
}

TEST_F(ConfigOfTransformers, has_no_fewer_positions_than_the_model_was_stretched_from) {
  TransformerForm form = read_form(model_specification("llama-tiny"));
  const auto positions = [&](int context) {
    write(huggingface_config(form, 300, context));
    return read_huggingface_config(directory.path() / "config.json").context;
  };
  EXPECT_EQ(positions(256), 256);
  form.angles = {.base = 500000, .stretch = 32, .low = 1, .high = 4, .trained = 8192};
  EXPECT_EQ(positions(256), 8192);
  EXPECT_EQ(positions(9000), 9000);
}

TEST_F(ConfigOfTransformers, of_gpt2_may_have_the_names_of_newer_models) {
  const std::string newer = R"("hidden_size": 6, "num_hidden_layers": 2, "num_attention_heads": 3,
                               "max_position_embeddings": 7})";
  const std::string expected =
      text_of(R"({"model_type": "gpt2", "n_embd": 6, "n_layer": 2, "n_head": 3, "n_positions": 7})");
  EXPECT_EQ(text_of(R"({"model_type": "gpt2", )" + newer), expected);
  EXPECT_EQ(text_of(R"({"model_type": "gpt2", "n_embd": 60, )" + newer), expected);
}

TEST_F(ConfigOfTransformers, keeps_numbers_that_six_digits_do_not_show) {
  TransformerForm form = read_form(model_specification("llama-tiny"));
  form.angles = {.base = 1234567, .stretch = 1.2345678F, .low = 1.5F, .high = 4.25F, .trained = 777};
  form.epsilon = 1.2345678e-6F;
  form.attention_dropout = 1e-40F;  // a subnormal number
  write(huggingface_config(form, 300, 64));
  const TransformerForm read = read_huggingface_config(directory.path() / "config.json").form;
  EXPECT_EQ(read.angles, form.angles);
  EXPECT_EQ(read.epsilon, form.epsilon);
  EXPECT_EQ(model_text(read, {}), model_text(form, {}));
  EXPECT_EQ(read_form(model_text(form, {})).attention_dropout, form.attention_dropout);
}

TEST_F(ConfigOfTransformers, with_more_channels_than_layers_take_is_no_model) {
  const std::string text = text_of(R"({"model_type": "llama", "num_attention_heads": 4096, "head_dim": 65536})");
  EXPECT_TRUE(says(text, "linear 805306368 no_bias"));
  expect_error(ExitCode::kUsage, "the number of outputs is a whole number from 1 to", [&] {
    build_graph(text, {64, 1, 1}, 300);
  });
}

TEST_F(ConfigOfTransformers, of_llama_gives_each_number_its_place) {
  const std::string config =
      R"({"model_type": "llama", "hidden_size": 6, "intermediate_size": 10, "num_hidden_layers": 1,
          "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8, "rms_norm_eps": 1e-05, "vocab_size": 11,
          "tie_word_embeddings": true, "attention_dropout": 0.5, "max_position_embeddings": 12, )";
  const std::string expected =
      "embedding 6; repeat 1 (residual(rms_norm; linear 64 no_bias deviation 0.02; rotary 4 groups 2 base 500000; "
      "attention 4 groups 2 dropout 0.5; linear 6 no_bias deviation 0.02); residual(rms_norm; linear 20 no_bias "
      "deviation 0.02; gated silu; linear 6 no_bias deviation 0.02)); rms_norm; tied_output";
  EXPECT_EQ(text_of(config + R"("rope_theta": 500000.0})"), expected);
  EXPECT_EQ(text_of(config + R"("rope_parameters": {"rope_type": "default", "rope_theta": 500000.0}})"), expected);
  EXPECT_EQ(text_of(config + R"("rope_parameters": {"rope_type": "default"}, "rope_theta": 500000.0})"), expected);
  EXPECT_EQ(read_huggingface_config(directory.path() / "config.json").context, 12);
}

TEST_F(ConfigOfTransformers, may_call_usual_positions_scaled_by_default) {
  const std::string llama = R"({"model_type": "llama", "num_hidden_layers": 1)";
  const std::string usual = text_of(llama + "}");
  for (const char* scaling : {"null", "{}", R"({"rope_type": "default"})", R"({"type": "default"})"})
    EXPECT_EQ(text_of(llama + R"(, "rope_scaling": )" + scaling + "}"), usual) << scaling;
}

TEST_F(ConfigOfTransformers, may_stretch_rotary_positions) {
  const std::string llama = R"({"model_type": "llama", "max_position_embeddings": 64, "num_hidden_layers": 1)";
  const auto angles_of = [&](const std::string& entry) {
    write(llama + ", " + entry + "}");
    return read_huggingface_config(directory.path() / "config.json").form.angles;
  };
  const std::string linear = R"({"rope_type": "linear", "factor": 2.5})";
  EXPECT_EQ(angles_of("\"rope_scaling\": " + linear), (RotaryAngles{.stretch = 2.5F}));
  EXPECT_EQ(angles_of("\"rope_parameters\": " + linear), (RotaryAngles{.stretch = 2.5F}));
  EXPECT_EQ(angles_of(R"("rope_scaling": {"type": "linear", "factor": 4})"), (RotaryAngles{.stretch = 4}));
  const std::string llama3 = R"("rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0)";
  EXPECT_EQ(angles_of("\"rope_theta\": 500000.0, \"rope_scaling\": {" + llama3 +
                      R"(, "original_max_position_embeddings": 32})"),
            (RotaryAngles{.base = 500000, .stretch = 8, .low = 1, .high = 4, .trained = 32}));
  EXPECT_EQ(angles_of("\"rope_parameters\": {" + llama3 + ", \"rope_theta\": 20000.0}"),
            (RotaryAngles{.base = 20000, .stretch = 8, .low = 1, .high = 4, .trained = 64}));
  // transformers prefers these.
  EXPECT_EQ(angles_of("\"rope_parameters\": {}, \"rope_scaling\": " + linear), (RotaryAngles{.stretch = 2.5F}));
  EXPECT_EQ(angles_of(R"("rope_parameters": {"rope_type": "default"}, "rope_scaling": )" + linear),
            (RotaryAngles{.stretch = 2.5F}));
  EXPECT_EQ(angles_of("\"original_max_position_embeddings\": 16, \"rope_scaling\": {" + llama3 +
                      R"(, "original_max_position_embeddings": 32})")
                .trained,
            16);
  EXPECT_EQ(angles_of("\"rope_parameters\": {" + llama3 + ", \"rope_theta\": 20000.0}").base, 20000);
  EXPECT_TRUE(says(model_text(read_huggingface_config(directory.path() / "config.json").form, {}),
                   "rotary 32 base 20000 stretch 8 low 1 high 4 trained 64; attention 32;"));
}

TEST_F(ConfigOfTransformers, of_mistral_or_qwen2_gives_llamas_layers) {
  const std::string qwen2 = text_of(R"({"model_type": "qwen2", "num_hidden_layers": 1, "num_key_value_heads": null})");
  EXPECT_TRUE(says(qwen2, "linear 12288 deviation 0.02; rotary 32; attention 32; linear 4096 no_bias")) << qwen2;
  EXPECT_TRUE(says(qwen2, "linear 44032 no_bias deviation 0.02; gated silu;")) << qwen2;
  const std::string mistral = text_of(R"({"model_type": "mistral", "num_hidden_layers": 1, "sliding_window": null})");
  EXPECT_TRUE(says(mistral, "linear 6144 no_bias deviation 0.02; rotary 32 groups 8; attention 32 groups 8;"))
      << mistral;
  const std::string biased =
      text_of(R"({"model_type": "llama", "num_hidden_layers": 1, "attention_bias": true, "mlp_bias": true})");
  EXPECT_FALSE(says(biased.substr(0, biased.find("linear classes")), "no_bias")) << biased;
}

// eave's attention looks at all tokens before.
TEST_F(ConfigOfTransformers, with_a_sliding_window_is_refused_unless_it_holds_all_positions) {
  const auto with = [](const std::string& entries) { return "{" + entries + R"(, "max_position_embeddings": 100})"; };
  for (const char* fits :
       {R"("model_type": "mistral", "sliding_window": 100)", R"("model_type": "mistral")",
        R"("model_type": "mistral", "sliding_window": null)", R"("model_type": "qwen2", "sliding_window": 40)",
        R"("model_type": "qwen2", "sliding_window": null, "use_sliding_window": true)",
        R"("model_type": "qwen2", "sliding_window": 40, "use_sliding_window": true,
                              "num_hidden_layers": 28)",
        R"("model_type": "qwen2", "sliding_window": 40, "use_sliding_window": true,
                              "num_hidden_layers": 2, "max_window_layers": 1,
                              "layer_types": ["full_attention", "full_attention"])",
        R"("model_type": "llama", "sliding_window": 40)"}) {
    write(with(fits));
    EXPECT_EQ(read_huggingface_config(directory.path() / "config.json").context, 100) << fits;
  }
  for (const char* slides : {R"("model_type": "mistral", "sliding_window": 40)",
                             R"("model_type": "qwen2", "sliding_window": 40, "use_sliding_window": true)",
                             R"("model_type": "qwen2", "sliding_window": 40, "use_sliding_window": true,
                                "num_hidden_layers": 2, "layer_types": ["full_attention", "sliding_attention"])"})
    expect_refused(ExitCode::kConfiguration, with(slides), "each token attends to the last 40 tokens (sliding_window)");
  expect_refused(ExitCode::kConfiguration, R"({"model_type": "mistral"})", "to the last 4096 tokens");
}

// test/addons/run language_models compares the functions behind these names.
TEST_F(ConfigOfTransformers, may_have_any_name_of_transformers_for_its_activation) {
  const auto form_with = [&](const std::string& name) {
    write(R"({"model_type": "gpt2", "activation_function": ")" + name + "\"}");
    return read_huggingface_config(directory.path() / "config.json").form;
  };
  for (const char* name : {"gelu_new", "gelu_pytorch_tanh", "gelu_fast", "gelu_accurate", "gelu_python_tanh"})
    EXPECT_TRUE(form_with(name).is_approximate) << name;
  for (const char* name : {"gelu", "gelu_python"}) EXPECT_FALSE(form_with(name).is_approximate) << name;
  for (const char* name : {"quick_gelu", "gelu_10", "silu", "swish"}) {
    expect_refused(ExitCode::kConfiguration,
                   R"({"model_type": "gpt2", "activation_function": ")" + std::string(name) + "\"}",
                   std::string("activation_function is ") + name + "; eave reads only gelu_new");
  }
  const std::string llama = R"({"model_type": "llama", "hidden_act": ")";
  EXPECT_EQ(text_of(llama + "swish\"}"), text_of(llama + "silu\"}"));
  expect_refused(ExitCode::kConfiguration, llama + "hardswish\"}", "hidden_act is hardswish; eave reads only silu");
}

TEST_F(ConfigOfTransformers, that_eave_writes_for_a_model_gives_its_form) {
  for (const char* const name : {"gpt2", "llama-tiny"}) {
    const std::string text = model_specification(name);
    write(huggingface_config(read_form(text), 300, 64));
    const HuggingfaceConfig read = read_huggingface_config(directory.path() / "config.json");
    EXPECT_EQ(model_text(read.form, {}), model_text(read_form(text), {})) << name;
    EXPECT_EQ(read.classes, 300);
  }
  for (const LinearBiases& biases : {LinearBiases{.rows = true}, LinearBiases{.rows = true, .mixed = true},
                                     LinearBiases{.dense = true}, LinearBiases{true, true, true}}) {
    TransformerForm form = read_form(model_specification("llama-tiny"));
    form.biases = biases;
    const std::string config = huggingface_config(form, 300, 64);
    write(config);
    EXPECT_EQ(read_huggingface_config(directory.path() / "config.json").form.biases, biases);
    EXPECT_EQ(read_form(model_text(form, {})).biases, biases);
    EXPECT_EQ(says(config, "Qwen2ForCausalLM"), (biases == LinearBiases{.rows = true}));
  }
  TransformerForm dropping = read_form(model_specification("nanogpt-char"));
  EXPECT_EQ(dropping.embedding_dropout, 0.2F);
  EXPECT_EQ(dropping.attention_dropout, 0.2F);
  EXPECT_EQ(dropping.branch_dropout, 0.2F);
  EXPECT_EQ(model_text(dropping, {0.02, scaled_branch_deviation(0.02, 6)}), model_specification("nanogpt-char"));
}

TEST_F(ConfigOfTransformers, with_what_eave_does_not_have_is_refused) {
  const auto expect = [&](const std::string& entry, const std::string& says, ExitCode code) {
    const bool is_llama = entry.find("rope") != std::string::npos || entry.find("bias") != std::string::npos;
    expect_refused(code, std::string(R"({"model_type": ")") + (is_llama ? "llama" : "gpt2") + "\", " + entry + "}",
                   says);
  };
  constexpr ExitCode kOther = ExitCode::kConfiguration, kBad = ExitCode::kBadData;
  expect(R"("activation_function": "relu")", "activation_function is relu; eave reads only gelu_new", kOther);
  expect(R"("scale_attn_weights": false)", "scale_attn_weights is off", kOther);
  expect(R"("rope_scaling": {"type": "yarn", "factor": 2.0})", "rope_type is yarn", kOther);
  expect(R"("rope_parameters": {"rope_type": "linear"})", "factor is missing", kBad);
  expect(R"("rope_parameters": {"rope_type": "linear", "factor": 0.5})", "factor is 0.5, expected a number from 1",
         kBad);
  expect(R"("rope_parameters": {"rope_type": "llama3", "factor": 2, "low_freq_factor": 4, "high_freq_factor": 1})",
         "high_freq_factor is 1, expected a number from 4", kBad);
  expect(R"("rope_parameters": {"full_attention": {"rope_type": "default"}})", "an entry of its own for full_attention",
         kOther);
  expect(R"("rope_parameters": {"partial_rotary_factor": 0.5})", "partial_rotary_factor is below 1", kOther);
  expect(R"("rope_parameters": [1])", "rope_parameters is [1], expected names with values", kBad);
  expect(R"("attention_bias": 1)", "attention_bias is 1, expected true or false", kBad);
  expect(R"("n_head": 7)", "n_embd 768 is no multiple of n_head 7", kBad);
  expect(R"("n_head": 0)", "n_head is 0, expected a number from 1", kBad);
  expect(R"("n_head": "12")", "n_head is \"12\", expected a number", kBad);
  expect(R"("n_layer": 1.5)", "n_layer is no whole number", kBad);
  expect(R"("n_layer": 1e30)", "n_layer is 1e+30, expected a number from 1 to 2000", kBad);
  expect(R"("resid_pdrop": 1)", "resid_pdrop is 1, expected less than 1", kBad);
  expect(R"("tie_word_embeddings": "no")", "tie_word_embeddings is \"no\", expected true or false", kBad);
  expect_refused(kOther, R"({"model_type": "bert"})",
                 "model_type is bert; eave reads only gpt2, llama, mistral, qwen2");
  expect_refused(kBad, R"({"n_head": 12})", "was not written by transformers: it has no model_type");
  expect_refused(kBad, "[1]", "was not written by transformers");
  expect_refused(kBad, "{", "is no JSON");
}

TEST_F(ConfigOfTransformers, is_looked_for_where_the_option_names_a_folder_and_nowhere_else) {
  EXPECT_EQ(model_text_of_option("mlp"), "mlp");
  EXPECT_EQ(model_text_of_option("dense 10; relu"), "dense 10; relu");
  EXPECT_EQ(model_text_of_option("misspelt"), "misspelt");
  expect_error(ExitCode::kInputMissing, "no " + (directory.path() / "config.json").string(),
               [&] { model_text_of_option(directory.path()); });
  write(R"({"model_type": "gpt2"})");
  EXPECT_EQ(model_text_of_option(directory.path()), model_text_of_option(directory.path() / "config.json"));
  expect_error(ExitCode::kInputMissing, "--model a/b: no such folder", [&] { model_text_of_option("a/b"); });
}

}  // namespace
}  // namespace eave
