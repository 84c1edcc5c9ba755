// Tests wrong input: the program reports it once, before training, with the right exit code, and no rank hangs.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <regex>
#include <set>
#include <thread>

#include "test/program/expectations.h"
#include "test/program/small_datasets.h"

namespace eave {
namespace {

void expect_refused(const Place& place, const std::vector<Case>& cases) {
  Runs runs;
  for (const Case& wrong : cases) start_all(runs, place, wrong);
  runs.check(expect_one_message);
}

TEST(BadInput, of_commands_and_options_is_refused_with_64) {
  const Place place;
  expect_refused(place, {{"trian", 64, {"no command 'trian'", "did you mean train?"}},
                         {"help xyzzy", 64, {"no command 'xyzzy'; expected train, compare, ", "or help"}},
                         {"help train --tau 3", 64, {"unexpected word '--tau'"}},
                         {"train --bacth 3", 64, {"unknown option --bacth (command line)", "did you mean --batch?"}},
                         {quick("--batch 0"), 64, {"--batch 0 (command line)", "at least 1"}},
                         {quick("--batch many"), 64, {"--batch many (command line)", "whole number"}},
                         {quick("--communicator easdg"), 64, {"--communicator easdg", "did you mean easgd?"}},
                         {quick("--tau 3"), 64, {"--tau (command line) has no effect", "belongs to", "easgd"}},
                         {quick(""), 64, {"unknown option --bacth (environment EAVE_BACTH)"}, "EAVE_BACTH=3"},
                         {"summary", 64, {"no run directory given", "RUN_DIR"}},
                         {quick("--model lent"), 64, {"there is no such model or folder; did you mean lenet?"}},
                         {quick("--on-nonfinite abrot"), 64, {"--on-nonfinite abrot", "did you mean abort?"}},
                         {quick("--shape-rate 10gb/s"), 64, {"10Gb/s for bits, or 10GB/s for bytes"}},
                         {quick("--run-dir=~nobody-is-called-so/x"), 64, {"no user 'nobody-is-called-so'"}},
                         {"bench-comm --operation all", 64, {"--operation all", "allreduce, easgd, request"}},
                         {"bench-comm --min-bytes 3", 64, {"--min-bytes 3 (command line)", "at least 4"}},
                         {"bench-comm --factor 2 --min-bytes 5k --max-bytes 8k", 64, {"--factor 2", "no second size"}},
                         {"bench-comm --tau 3", 64, {"unknown option --tau"}}});
}

// A flag takes only the two words that help lists, from every place where an option can stand.
TEST(BadInput, of_flags_is_refused_with_the_two_right_words) {
  const Place place;
  place.write("yes.ini", "flip = yes\n");
  std::vector<Case> cases;
  for (const std::string word : {"1", "yes", "ON", "true", "0", "no", "False"})
    cases.push_back({quick("--flip " + word), 64, {"--flip " + word + " (command line): expected on or off"}});
  cases.push_back({quick("--flip=yes"), 64, {"--flip yes (command line): expected on or off"}});
  cases.push_back({quick("--config yes.ini"), 64, {"--flip yes (file yes.ini): expected on or off"}});
  cases.push_back({quick(""), 64, {"--flip 1 (environment EAVE_FLIP): expected on or off"}, "EAVE_FLIP=1"});
  cases.push_back(
      {"compare --communicators easgd:nesterov=yes --epochs 1 --dry-run --data synthetic --output out --transport "
       "threads --ranks 2",
       64,
       {"--nesterov yes", "expected on or off"}});
  for (const Case& wrong : cases) expect_end(64, place.eave(wrong.words, {0, wrong.environment}), wrong.says);
}

// If sums or products with a count do not fit into 64 bits, the program refuses the count.
TEST(BadInput, of_counts_beyond_all_use_is_refused_or_harmless) {
  const Place place;
  const std::string options = place.eave("help --format markdown").output;
  const std::regex a_count("\\| `--([a-z-]+) N` \\|");
  Runs runs;
  std::set<std::string> names;
  for (std::sregex_iterator found(options.begin(), options.end(), a_count), end; found != end; ++found)
    names.insert((*found)[1]);
  EXPECT_GT(names.size(), 20u);
  for (const std::string& name : names) {
    for (const std::string with : {"", "--communicator easgd", "--transport threads --ranks 2"}) {
      for (const std::string count : {"1000000000000000", "9223372036854775807"}) {
        const std::string words = quick(with + " --" + name + " " + count);
        runs.start({words, 64, {"--" + name}}, "", [&place, words] { return place.eave(words); });
      }
    }
  }
  runs.check([](const Ended& ended, const Case& wrong, const std::string&) {
    if (ended.code != 0) expect_end(wrong.code, ended, wrong.says);
  });
}

TEST(BadInput, of_methods_without_an_optimizer_or_with_one_rank_is_refused_with_64) {
  const Place place;
  const std::string workers_push = "--communicator mdownpour ",
                    has = "leave it out (options of mdownpour: --async-order, --center-momentum";
  expect_refused(place,
                 {{quick(workers_push + "--momentum 0.5"), 64, {"--momentum (command line) has no effect", has}},
                  {quick(workers_push + "--optimizer adamw"), 64, {"--optimizer (command line)", has}},
                  {quick(workers_push), 64, {"--nesterov (environment EAVE_NESTEROV)", has}, "EAVE_NESTEROV=on"}});
  for (const std::string ranks : {"2", "3"}) {
    expect_end(64, place.eave(quick("--communicator asgd --transport threads --ranks " + ranks)),
               {"the job has " + ranks, "adownpour"});
  }
  expect_end(0, place.eave(quick("--communicator asgd")));
}

TEST(BadInput, of_where_to_stop_is_refused_with_64) {
  const Place place;
  expect_refused(
      place, {{quick("--stop-at-accuracy 90"), 64, {"--stop-at-accuracy 90", "at most 1", "0.9"}},
              {quick("--evaluate-workers off --evaluate-every 0"), 64, {"--evaluate-workers", "--evaluate-every 0"}},
              {quick("--stop-at-accuracy 0.9 --evaluate-every 0"), 64, {"--stop-at-accuracy", "--evaluate-every 0"}},
              {quick("--checkpoint off"), 64, {"--checkpoint", "--run-dir"}},
              {quick("--validation-share 1"), 64, {"--validation-share 1", "0.1"}},
              {quick("--stop-at-accuracy 0.9 --communicator none --average-at-end --evaluate-every 0.5"),
               64,
               {"--stop-at-accuracy", "--average-at-end"}}});
}

TEST(EvaluateWorkers, may_be_off_in_a_run_that_is_shorter_than_an_epoch) {
  expect_end(0, Place().eave(quick("--evaluate-workers off --max-steps 1")));
}

TEST(Help, of_a_command_is_what_its_own_option_prints) {
  const Place place;
  for (const std::string command : {"train", "checkpoint", "help"}) {
    const Ended help = expect_end(0, place.eave("help " + command));
    EXPECT_EQ(help.output, place.eave(command + " --help").output);
    EXPECT_FALSE(help.output.empty());
  }
}

TEST(BadInput, of_compression_is_refused_with_64) {
  const Place place;
  expect_refused(
      place, {{quick("--communicator none --compression bf16"), 64, {"--compression (command line) has no effect"}},
              {quick("--communicator asgd --top-k-share 0.1"), 64, {"--top-k-share (command line) has no effect"}},
              {quick("--compression int8 --top-k-share 0.1"), 64, {"has no effect with --compression int8", "top-k"}},
              {quick("--compression top-k --top-k-share 0.9"), 64, {"--top-k-share 0.9 (command line)", "at most 0.5"}},
              {quick("--compression int4"), 64, {"--compression int4", "did you mean int8?"}},
              {quick("--communicator gossip --compression top-k"), 64, {"--compression top-k", "give bf16 or fp16"}}});
}

TEST(BadInput, of_configuration_files_is_refused) {
  const Place place;
  place.write("broken.ini", "this is no assignment\n");
  place.write("unknown.ini", "bacth = 3\n");
  expect_refused(place, {{quick("--config nowhere.ini"), 66, {"no file nowhere.ini"}},
                         {quick("--config broken.ini"), 64, {"broken.ini", "this is no assignment", "tau = 10"}},
                         {quick("--config unknown.ini"), 64, {"file unknown.ini", "did you mean --batch?"}}});
  place.write("remark.ini", "batch = 16 ; a remark\n");
  place.write("remarks.ini", "; a remark\nbatch = 16\n");
  place.write("nameless.ini", "batch = 16\n =16\n");
  place.write("carriage.ini", "batch = 16\rmodel = flatten; dense classes\r");
  expect_refused(place, {{quick("--config remark.ini"), 64, {"--batch 16 ; a remark: a remark begins with #"}},
                         {quick("--config remarks.ini"), 64, {"line 1: '; a remark' is no setting", "with #"}},
                         {quick("--config nameless.ini"), 64, {"line 2: '=16' names no option", "tau = 10"}}});
  expect_parts(place.eave("train --print-config --config carriage.ini").output, {"\nbatch = 16  "});
}

TEST(Configuration, may_come_from_a_pipe_or_a_device) {
  const Place place;
  place.write("settings.ini", "batch = 16\n");
  const std::string prints = "\"$0\" train --data synthetic --print-config --config ";
  const auto batch_of = [&](const std::string& command) {
    const Ended ended = expect_end(0, place.run("timeout -k 5 60 sh -c '" + command + "' " + program()));
    const std::size_t at = ended.output.find("batch = ");
    return at == std::string::npos ? "" : ended.output.substr(at, ended.output.find("  ", at) - at);
  };
  EXPECT_EQ(batch_of("cat settings.ini | " + prints + "/dev/stdin"), "batch = 16");
  EXPECT_EQ(batch_of(prints + "/dev/stdin < settings.ini"), "batch = 16");
  EXPECT_EQ(batch_of(prints + "/dev/fd/7 7< settings.ini"), "batch = 16");
  EXPECT_EQ(batch_of("mkfifo pipe; cat settings.ini > pipe & sleep 0.1; " + prints + "pipe"), "batch = 16");
  EXPECT_EQ(batch_of(prints + "/dev/null"), "batch = 32");
}

TEST(Configuration, from_a_pipe_is_that_of_each_run_of_a_comparison) {
  const Place place;
  expect_end(0, place.run("timeout -k 5 60 sh -c 'echo synthetic-samples = 64 | \"$0\" compare --seeds 2 --epochs 1 "
                          "--data synthetic --synthetic-size 8 --synthetic-test-samples 16 --model \"flatten; dense "
                          "classes\" --output all --config /dev/stdin' " +
                          program()));
  for (const std::string seed : {"1", "2"}) {
    const std::string config = place.read("all/one-rank-p1-b32-seed" + seed + "/config.json");
    expect_parts(config, {"\"synthetic-samples\": \"64\""});
  }
}

TEST(Configuration, of_several_ranks_is_no_stream_of_one_of_them) {
  if (!has_mpirun()) GTEST_SKIP() << "built without MPI";
  const Place place;
  expect_end(64, place.eave(quick("--config /dev/stdin"), {2}),
             {"--config /dev/stdin is a stream of one process, which only one of 2 ranks could read"});
  expect_end(0, place.eave(quick("--config /dev/null"), {2}));
}

TEST(BadInput, of_models_is_refused) {
  const Place place;
  expect_refused(place, {{quick("--model cifar7"), 78, {"conv2d 128 5x5", "larger than its input", "smaller window"}},
                         {quick("--model 'conv3d 3; dense 10'"), 64, {"no layer \"conv3d\"", "conv2d", "resnet20"}},
                         {quick("--model 'flatten; dense 11'"), 78, {"dense 11", "10 classes", "dense classes"}},
                         {quick("--crop 40"), 78, {"crop of 40", "8", "crop less"}}});
}

TEST(BadInput, of_run_directories_is_refused_with_73) {
  const Place place;
  place.write("used/notes.txt", "mine");
  place.write("file", "");
  expect_refused(place, {{quick("--run-dir used"), 73, {"--run-dir used", "not empty", "--resume", "--overwrite"}},
                         {quick("--run-dir file"), 73, {"--run-dir file", "no directory"}},
                         {quick("--run-dir file/below"), 73, {"--run-dir file/below", "cannot be created"}},
                         {quick("--run-dir /proc/eave"), 73, {"--run-dir /proc/eave", "cannot be created"}},
                         {"summary nowhere", 66, {"nowhere/summary.json"}}});
  EXPECT_EQ(place.read("used/notes.txt"), "mine");
}

TEST(BadInput, of_data_files_is_refused) {
  const Place place;
  write_fashion_mnist(place, "good", [](const std::string&, std::string&) {});
  expect_end(0, place.eave("train --data-dir good --max-steps 1 --progress off"));
  write_fashion_mnist(place, "cut", [](const std::string& name, std::string& bytes) {
    if (name.starts_with("train-images")) bytes.resize(bytes.size() - 1);
  });
  write_fashion_mnist(place, "foreign", [](const std::string& name, std::string& bytes) {
    if (name.starts_with("t10k-images")) bytes = "no images here, only words";
  });
  write_fashion_mnist(place, "label", [](const std::string& name, std::string& bytes) {
    if (name.starts_with("train-labels")) bytes.back() = 10;
  });
  write_fashion_mnist(place, "swapped", [](const std::string&, std::string&) {});
  std::filesystem::rename(place.path() / "swapped/train-labels-idx1-ubyte", place.path() / "swapped/other");
  std::filesystem::rename(place.path() / "swapped/t10k-labels-idx1-ubyte",
                          place.path() / "swapped/train-labels-idx1-ubyte");
  std::filesystem::rename(place.path() / "swapped/other", place.path() / "swapped/t10k-labels-idx1-ubyte");
  write_fashion_mnist(place, "part", [](const std::string&, std::string&) {});
  std::filesystem::remove(place.path() / "part/t10k-labels-idx1-ubyte");
  expect_refused(place,
                 {{"train --data-dir nowhere", 66, {"no directory nowhere", "dataset-fashion-mnist", "--data-dir"}},
                  {"train --data-dir part", 66, {"t10k-labels-idx1-ubyte"}},
                  {"train --data-dir cut", 65, {"cut/train-images-idx3-ubyte"}},
                  {"train --data-dir foreign", 65, {"foreign/t10k-images-idx3-ubyte"}},
                  {"train --data-dir label", 65, {"label/train-labels-idx1-ubyte", "10"}},
                  {"train --data-dir swapped", 65, {"swapped/", "labels"}},
                  {"train --data cifar10 --data-dir good", 66, {"cifar10", "--data-dir"}}});
}

TEST(BadInput, of_image_folders_is_refused) {
  const Place place;
  write_image_folder(place, "good", [](const std::string&, std::string&) {});
  const std::string train = "train --data image-folder --progress off --model 'flatten; dense classes' --epochs 1 ";
  expect_end(0, place.eave(train + "--data-dir good --decode-threads 2"));
  write_image_folder(place, "header", [](const std::string& name, std::string& bytes) {
    if (name == "train/b/1.png") bytes.resize(20);
  });
  write_image_folder(place, "body", [](const std::string& name, std::string& bytes) {
    if (name == "train/b/2.png") bytes.resize(bytes.size() - 20);
  });
  write_image_folder(place, "foreign", [](const std::string&, std::string&) {});
  place.write("foreign/test/a/photo.webp", "RIFF");
  expect_refused(place, {{train, 66, {"image-folder", "--data-dir"}},
                         {train + "--data-dir nowhere", 66, {"no directory nowhere", "a folder for each class"}},
                         {train + "--data-dir header", 65, {"header/train/b/1.png", "truncated"}},
                         {train + "--data-dir body", 65, {"body/train/b/2.png", "truncated"}},
                         {train + "--data-dir foreign", 65, {"foreign/test/a/photo.webp", "convert it to JPEG or PNG"}},
                         {train + "--data-dir good --image-test-share 0.5", 64, {"--image-test-share", "good/test"}},
                         {quick("--image-size 8"), 64, {"--image-size (command line) has no effect", "image-folder"}}});
}

TEST(BadInput, of_texts_is_refused) {
  const Place place;
  std::string lines;
  for (int i = 0; i < 100; ++i) lines += "line " + std::to_string(i) + "\n";
  place.write("texts/a.txt", lines);
  place.write("texts/empty.txt", "");
  const std::string train = "train --data text --progress off --model 'flatten; dense classes' --max-steps 1 ";
  const std::string good = train + "--data-dir texts --context 16 ";
  expect_refused(
      place,
      {{train, 66, {"--data text has no usual place", "--data-dir"}},
       {train + "--data-dir nowhere", 66, {"no file or folder nowhere"}},
       {train + "--data-dir texts/empty.txt", 66, {"no files of text in texts/empty.txt", "1 empty file"}},
       {train + "--data-dir texts --context 10000", 78, {"--context 10000 is too long"}},
       {train + "--data-dir texts --context 0", 64, {"--context 0 (command line)"}},
       {good + "--flip", 64, {"--flip (command line) has no effect", "text"}},
       {good + "--crop 4", 64, {"--crop (command line) has no effect", "text"}},
       {good + "--sampling stratified", 64, {"--sampling stratified", "no classes"}},
       {good + "--run-dir texts/run", 64, {"lies among the files of --data-dir texts"}},
       {good + "--stage-to texts/copy", 64, {"--stage-to texts/copy lies among the files of --data-dir texts"}},
       {good + "--run-dir run --checkpoint-dir texts/c", 64, {"--checkpoint-dir texts/c lies among the files"}},
       {good, 78, {"reads images", "windows of tokens: choose a model of text, such as nanogpt-cpu"}},
       {good + "--model lenet", 78, {"--model lenet reads images", "such as nanogpt-cpu"}},
       {quick("--context 8"), 64, {"--context (command line) has no effect", "text"}},
       {"train --data tokens --progress off --data-dir texts/a.txt --vocabulary-size 5 --max-steps 1", 65, {"a.txt"}}});
}

TEST(BadInput, of_numbers_of_ranks_is_refused) {
  const Place place;
  Runs runs;
  const auto start = [&](const std::string& words, int ranks, int code, const std::vector<std::string>& says) {
    runs.start({words, code, says}, "mpirun " + std::to_string(ranks),
               [=, &place] { return place.eave(words, {ranks}); });
  };
  const std::string few = quick("--synthetic-samples 1"), odd = quick("--batch 33 --batch-means total");
  start(few + " --transport threads --ranks 2", 0, 78, {"2 ranks", "1 training sample", "at most as many ranks"});
  start(odd + " --transport threads --ranks 2", 0, 64, {"--batch 33", "2 ranks", "multiple"});
  start(quick("--transport threads --ranks 0"), 0, 64, {"--ranks 0", "at least 1"});
  start(quick("--transport threads --ranks 2 --slow-rank 2:4x"), 0, 64, {"--slow-rank 2:4x", "below 2"});
  start(quick("--transport threads --ranks 2 --limit-step 1ms"), 0, 64, {"--limit-step 1ms", "from 1s up"});
  if (has_mpirun()) {
    start(few, 2, 78, {"2 ranks", "1 training sample", "at most as many ranks"});
    start(odd, 4, 64, {"--batch 33", "4 ranks", "multiple"});
    start(quick("--transport threads"), 2, 64, {"--transport threads", "launcher"});
  }
  runs.check(expect_one_message);
}

TEST(Resumption, of_another_run_is_refused_once_and_changes_nothing) {
  const Place place;
  const std::string two = "--transport threads --ranks 2 --run-dir run ";
  expect_end(0, place.eave(quick(two)));
  const std::string resumed = "--epochs 2 --resume ", settings = "settings in config.json";
  const std::string config = place.read("run/config.json"), metrics = place.read("run/metrics.jsonl");
  const std::vector<Case> cases = {
      {quick("--resume"), 64, {"--resume", "--run-dir"}},
      {quick(two + "--resume --overwrite"), 64, {"--overwrite and --resume", "give one"}},
      {quick(two + "--resume"), 64, {"7 steps", "more --epochs"}},
      {quick("--run-dir nowhere --resume"), 66, {"no checkpoint in nowhere", "without --resume"}},
      {quick(two + resumed + "--seed 2"), 78, {"--seed 1", "now it is 2", settings}},
      {quick(two + resumed + "--batch 4"), 78, {"--batch 8, now it is 4", settings}},
      {quick(two + resumed + "--model mlp"), 78, {"--model", "now it is mlp", settings}},
      {quick(two + resumed + "--communicator easgd"), 78, {"--communicator allreduce, now it is easgd", settings}},
      {quick(two + resumed + "--ranks 3"), 78, {"ranks 2", "3", settings}},
      {quick(two + resumed + "--ranks 1"), 78, {"ranks 2", "1", settings}}};
  for (const Case& wrong : cases) expect_one_message(place.eave(wrong.words), wrong, "resumed");
  std::filesystem::remove(place.path() / "run/config.json");
  expect_one_message(place.eave(quick(two + resumed)),
                     {"", 66, {"run/config.json is missing", "put it back", "--overwrite"}}, "without config.json");
  place.write("run/config.json", config);
  const std::string file = "run/checkpoint/step-000007/rank-1.state", content = place.read(file);
  place.write(file, content.substr(0, content.size() - 4));
  expect_one_message(place.eave(quick(two + resumed)),
                     {"", 65, {"no checkpoint in run/checkpoint is whole", "rank-1.state"}}, "cut");
  std::filesystem::remove(place.path() / file);
  expect_one_message(place.eave(quick(two + resumed)),
                     {"", 65, {"no checkpoint in run/checkpoint is whole", "rank-1.state"}}, "missing");
  EXPECT_EQ(place.read("run/config.json"), config);
  EXPECT_EQ(place.read("run/metrics.jsonl"), metrics);
}

// The file is mapped when it is cut. Reading a missing page raises a signal, for which MPI has a handler too.
TEST(BadInput, of_a_file_that_is_cut_while_training_ends_with_65) {
  const Place place;
  write_fashion_mnist(place, "data", [](const std::string&, std::string&) {});
  std::thread cutter([&] {
    for (int i = 0; i < 300 && place.read("run/metrics.jsonl").empty(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    std::filesystem::resize_file(place.path() / "data/train-images-idx3-ubyte", 1600);
  });
  const Ended ended = place.eave(
      "train --data-dir data --model 'flatten; dense classes' --batch 2 --epochs 1000000 --log-every 1 "
      "--evaluate-every 0 --checkpoint off --progress off --run-dir run",
      {has_mpirun() ? 2 : 0});
  cutter.join();
  expect_end(65, ended, {"data/train-images-idx3-ubyte: became shorter while it was in use"});
}

}  // namespace
}  // namespace eave
