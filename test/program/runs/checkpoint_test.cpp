// Tests the program's checkpoints as people use them: list, verify, export, resume.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/files/directory_lock.h"
#include "test/program/expectations.h"

namespace eave {
namespace {

using Json = nlohmann::json;

constexpr const char* kTwo = "--transport threads --ranks 2 --run-dir run ";

// Trains one epoch. It saves checkpoints after steps 2, 4, 6 and 7, and keeps the last three.
void train_one_epoch(const Place& place, const std::string& more = "") {
  expect_told(0, place.eave(quick(std::string(kTwo) + "--checkpoint-every 2 " + more)), {"checkpoints kept training"});
}

void damage(const Place& place, const std::string& file) {
  std::string content = place.read(file);
  content[content.size() / 2] = static_cast<char>(content[content.size() / 2] ^ 1);
  place.write(file, content);
}

TEST(Checkpoints, are_listed_verified_and_named_where_they_are_damaged) {
  const Place place;
  train_one_epoch(place);
  expect_told(0, place.eave("checkpoint ls run"), {"           4", "           6", "           7"});
  expect_told(0, place.eave("checkpoint verify run"), {"step 4: whole", "step 6: whole", "step 7: whole"});
  damage(place, "run/checkpoint/step-000006/rank-1.state");
  expect_told(
      65, place.eave("checkpoint verify run"),
      {"step 7: whole", "step 6: run/checkpoint/step-000006/rank-1.state: ", "damaged checkpoints", "of step 6"});
  expect_told(0, place.eave("checkpoint verify run --step 7"), {"step 7: whole"});
  damage(place, "run/checkpoint/step-000004/manifest.json");
  expect_told(65, place.eave("checkpoint ls run"),
              {"damaged: run/checkpoint/step-000004/manifest.json", "damaged checkpoints", "of step 4"});
}

TEST(Checkpoints, are_listed_as_damaged_where_a_file_is_missing_or_cut) {
  const Place place;
  train_one_epoch(place);
  std::filesystem::remove(place.path() / "run/checkpoint/step-000004/rank-1.state");
  std::filesystem::resize_file(place.path() / "run/checkpoint/step-000006/rank-0.state", 100);
  expect_told(65, place.eave("checkpoint ls run"),
              {"damaged: run/checkpoint/step-000004/rank-1.state: No such file",
               "damaged: run/checkpoint/step-000006/rank-0.state: it has 100 bytes", "of step 6, 4"});
  const Ended none = place.eave("checkpoint ls nowhere");
  EXPECT_EQ(none.output, "") << "no header beside an error";
}

TEST(Checkpoints, are_exported_as_the_model_that_was_evaluated) {
  for (const std::string method : {"allreduce", "easgd --tau 3", "local-sgd --tau 3", "none"}) {
    const Place place;
    train_one_epoch(place,
                    "--communicator " + method + " --model \"conv2d 4 3x3; batch_norm; relu; flatten; dense classes\"");
    expect_told(0, place.eave("checkpoint export run --safetensors model --layout eave"), {"step 7: wrote model"});
    EXPECT_EQ(place.read("model"), place.read("run/model.safetensors")) << method;
    damage(place, "run/checkpoint/step-000007/rank-0.state");
    expect_told(0, place.eave("checkpoint export run --npy arrays"), {"passed over", "step 6: wrote arrays"});
  }
}

TEST(Checkpoints, of_a_run_without_an_end_are_named_where_its_model_or_summary_is_asked_for) {
  const Place place;
  train_one_epoch(place);
  std::filesystem::remove(place.path() / "run" / "model.safetensors");
  EXPECT_FALSE(place.eave("generate run").says("has not ended"));
  std::filesystem::remove(place.path() / "run" / "summary.json");
  for (const std::string command : {"export run --npy out", "generate run", "summary run"}) {
    expect_told(66, place.eave(command),
                {"the run in run has not ended, so it has no ", "eave checkpoint export run writes the model", "step 7",
                 "--resume auto"});
  }
  {
    const DirectoryLock lock(place.path() / "run", "run.lock", "--run-dir run");
    expect_told(66, place.eave("summary run"),
                {"the run in run is still running (host ", "so it has no summary.json; eave watch run follows it"});
  }
  std::filesystem::remove_all(place.path() / "run/checkpoint");
  expect_told(66, place.eave("export run --npy out"), {"it has no checkpoint; ", "--overwrite begins it anew"});
  place.write("run/metrics.jsonl",
              place.read("run/metrics.jsonl") + R"({"type":"failure","code":74,"message":"no space"})" + "\n");
  expect_told(66, place.eave("summary run"), {"the run in run failed: no space, so it has no summary.json; "});
  expect_told(76, place.eave(quick("--lr 500000 --nonfinite-limit 1 --communicator easgd --run-dir diverged")));
  const Ended diverged = expect_told(66, place.eave("summary diverged"),
                                     {"the run in diverged diverged, so it has no summary.json", "a smaller --lr"});
  EXPECT_FALSE(diverged.says("--resume")) << diverged.errors;
  const std::string config = place.read("diverged/config.json");
  place.write("diverged/config.json", config.substr(0, config.rfind('}')) + R"(,"program":"a.py","python":"3.11.7"})");
  expect_told(66, place.eave("summary diverged"),
              {"train anew, with a smaller learning rate; in this directory with overwrite=True"});
}

TEST(Checkpoints, of_a_run_with_other_settings_are_refused) {
  const Place place;
  const std::string easgd = "--communicator easgd --tau 3 --checkpoint-every 2 --max-steps 4 ";
  expect_end(0, place.eave(quick(kTwo + easgd)));
  const std::string longer = "--communicator easgd --tau 3 --max-steps 7 --log-every 2 --keep 1 --resume auto ";
  for (const std::string other : {"--lr 0.03", "--tau 2", "--label-smoothing 0.1"}) {
    place.run("sh -c 'rm -rf other copy; cp -r run copy'");
    expect_end(0, place.eave(quick("--transport threads --ranks 2 --run-dir other " + easgd + other)));
    place.run("sh -c 'rm -r copy/checkpoint; cp -r other/checkpoint copy'");
    expect_end(78, place.eave(quick("--transport threads --ranks 2 --run-dir copy " + longer)),
               {"copy/checkpoint/step-000004 is a checkpoint of another run: it was saved with " + other.substr(0, 5),
                "and this run has ", "put this run's own checkpoints in its place"});
  }
  expect_end(0, place.eave(quick(kTwo + longer)));
}

TEST(Checkpoints, refuse_what_means_nothing) {
  const Place place;
  train_one_epoch(place);
  expect_told(64, place.eave("checkpoint"), {"ls, verify or export"});
  expect_told(64, place.eave("checkpoint ls"), {"a run directory"});
  expect_told(64, place.eave("checkpoint burn run"), {"no action 'burn'"});
  expect_told(64, place.eave("checkpoint ls run --step 7"), {"--step has no effect with ls"});
  expect_told(64, place.eave("checkpoint verify run --npy out"), {"--npy has no effect"});
  expect_told(64, place.eave("checkpoint export run"), {"no output given", "one of --npy DIR and --safetensors FILE"});
  expect_told(64, place.eave("checkpoint export run --npy out --safetensors file"), {"FILE, not both"});
  expect_told(66, place.eave("checkpoint verify run --step 3"), {"no checkpoint", "of step 3"});
  expect_told(66, place.eave("checkpoint ls nowhere"), {"no checkpoint in nowhere/checkpoint"});
  for (const std::string inside : {"run/checkpoint", "run/checkpoint/step-000007", "run/checkpoint/"}) {
    expect_told(66, place.eave("checkpoint verify " + inside), {"give the run's directory instead: ", "/run\n"});
  }
  expect_told(64, place.eave("checkpoint ls --stepp 3 run"), {"--stepp", "--step"});
  expect_told(64, place.eave("checkpoint --step 3 ls run"), {"expected ls, verify or export", "before options"});
  place.write("there", "");
  EXPECT_EQ(place.eave("checkpoint export run --safetensors there").output, "") << "no half of a line";
  const std::string words = quick(std::string(kTwo) + "--overwrite ");
  for (const std::string every : {"0", "-5", "1.5", "10d", "m", "nan", "5 m"}) {
    expect_told(64, place.eave(words + "--checkpoint-every '" + every + "'"), {"--checkpoint-every", "500", "10m"});
  }
  expect_told(64, place.eave(words + "--keep 0"), {"--keep 0"});
  expect_told(64, place.eave(words + "--checkpoint off --keep 2"), {"--keep has no effect with --checkpoint off"});
  expect_told(64, place.eave(quick("--checkpoint-every 5")), {"--checkpoint-every has no effect without --run-dir"});
  expect_told(64, place.eave(words + "--resume sometimes"), {"--resume sometimes", "auto"});
}

TEST(ResumeAuto, begins_goes_on_and_ends_by_the_same_command) {
  const Place place;
  const std::string words = quick(std::string(kTwo) + "--epochs 2 --checkpoint-every 5 --resume auto ");
  expect_told(0, place.eave(words));
  const std::string model = place.read("run/model.safetensors"), metrics = place.read("run/metrics.jsonl");
  expect_told(0, place.eave(words), {"has ended; nothing is left to do"});
  EXPECT_EQ(place.read("run/metrics.jsonl"), metrics);
  // Looks as if the run had been killed after its last checkpoint, or after the one before.
  for (const bool is_behind_last : {true, false}) {
    std::filesystem::remove(place.path() / "run/summary.json");
    std::filesystem::remove(place.path() / "run/model.safetensors");
    if (!is_behind_last) std::filesystem::remove_all(place.path() / "run/checkpoint/step-000014");
    expect_told(0, place.eave(words));
    EXPECT_EQ(place.read("run/model.safetensors"), model);
    std::map<std::string, int> lines;
    for (const Json& record : records_of(place)) ++lines[record.at("type")];
    EXPECT_EQ(lines["evaluation"], 2);
    EXPECT_EQ(lines["step"], 28);
    EXPECT_EQ(lines["end"], 1);
  }
  expect_told(0, place.eave(words + "--epochs 3"), {"results in run"});
}

TEST(ResumeAuto, begins_anew_where_a_run_was_cut_short_before_its_first_checkpoint) {
  const Place place;
  const std::string words = quick(std::string(kTwo) + "--resume auto ");
  expect_told(0, place.eave(words));
  const std::string model = place.read("run/model.safetensors");
  std::filesystem::remove_all(place.path() / "run/checkpoint");
  std::filesystem::remove(place.path() / "run/summary.json");
  expect_told(
      0, place.eave(words),
      {"the run begins anew, because there is no checkpoint in run/checkpoint. The 7 steps that it had recorded"});
  EXPECT_EQ(place.read("run/model.safetensors"), model);
  std::filesystem::remove_all(place.path() / "run/checkpoint");
  std::filesystem::remove(place.path() / "run/summary.json");
  const std::string lines = place.read("run/metrics.jsonl");
  place.write("run/metrics.jsonl",
              lines.substr(0, lines.find("\"end\"") - 8) + "{\"type\":\"step\",\"step\":null}\n{\"type\":1}\n");
  expect_told(0, place.eave(words), {"The 7 steps that it had recorded"});
  for (const char* file : {"run/metrics.jsonl", "run/summary.json"}) std::filesystem::remove(place.path() / file);
  expect_told(66, place.eave(words), {"run/metrics.jsonl is missing", "--overwrite"});
}

// As after a move of checkpoints to another disk.
TEST(Resumption, names_checkpoints_that_are_links) {
  const Place place;
  train_one_epoch(place);
  const std::string words = quick(std::string(kTwo) + "--resume auto ");
  std::filesystem::remove(place.path() / "run/summary.json");
  const auto move_and_link = [&](const std::string& step) {
    std::filesystem::rename(place.path() / "run/checkpoint" / step, place.path() / step);
    std::filesystem::create_directory_symlink(place.path() / step, place.path() / "run/checkpoint" / step);
  };
  move_and_link("step-000007");
  expect_told(65, place.eave("checkpoint verify run"),
              {"step-000007: it is a symbolic link; put the directory itself"});
  expect_told(0, place.eave(words), {"passed over", "step-000007: it is a symbolic link"});
  std::filesystem::remove(place.path() / "run/summary.json");
  std::filesystem::remove_all(place.path() / "step-000007");
  move_and_link("step-000004");
  expect_told(0, place.eave(quick(std::string(kTwo) + "--resume auto --epochs 2 --keep 1")), {"checkpoint"});
  EXPECT_TRUE(std::filesystem::is_symlink(place.path() / "run/checkpoint/step-000004")) << "it is the user's own";
  std::filesystem::remove(place.path() / "run/summary.json");
  for (const auto& each : std::filesystem::directory_iterator(place.path() / "run/checkpoint"))
    if (!each.is_symlink()) move_and_link(each.path().filename());
  expect_told(65, place.eave(words),
              {"no checkpoint in run/checkpoint is whole", "step-000004: it is a symbolic link"});
  EXPECT_TRUE(std::filesystem::is_directory(place.path() / "step-000004"));
}

TEST(Resumption, takes_the_newest_whole_checkpoint_and_says_what_it_passes_over) {
  const Place place;
  train_one_epoch(place);
  const std::string model = place.read("run/model.safetensors");
  damage(place, "run/checkpoint/step-000007/rank-1.state");
  std::filesystem::remove(place.path() / "run/summary.json");
  expect_told(0, place.eave(quick(std::string(kTwo) + "--resume")), {"passed over", "step-000007/rank-1.state"});
  EXPECT_EQ(place.read("run/model.safetensors"), model);
  expect_told(0, place.eave("checkpoint verify run"), {"step 7: whole"});
}

TEST(Resumption, with_another_number_of_ranks_needs_the_word_for_it) {
  const Place place;
  train_one_epoch(place, "--communicator easgd --tau 2");
  const std::string words = quick("--communicator easgd --tau 2 --epochs 2 --run-dir run --transport threads ");
  expect_told(78, place.eave(words + "--ranks 3 --resume"), {"ranks 2", "elastic"});
  expect_told(0, place.eave(words + "--ranks 3 --resume elastic"), {"results in run"});
  expect_told(78, place.eave(words + "--ranks 3 --resume elastic --epochs 3 --seed 2"), {"seed"});
  std::int64_t samples = 0;
  for (const Json& step : records_of(place, "step")) {
    if (step.at("rank") != 0) continue;
    EXPECT_GT(step.at("samples"), samples);
    samples = step.at("samples");
  }
  EXPECT_EQ(samples, 2 * 97);
}

std::vector<double> rates_in(const Place& place) {
  std::vector<double> rates;
  for (const Json& step : records_of(place, "step"))
    if (step.at("rank") == 0) rates.push_back(step.at("learning_rate"));
  return rates;
}

TEST(ExtendSchedule, says_what_becomes_of_a_cosine_in_a_run_that_is_made_longer) {
  const Place place;
  const std::string words = quick(std::string(kTwo) + "--lr-schedule cosine --resume auto ");
  expect_told(64, place.eave(words + "--extend-schedule hold"), {"there is no run to go on with"});
  expect_told(0, place.eave(words));
  const std::vector<double> first = rates_in(place);
  const std::string longer = words + "--epochs 2 ";
  expect_told(78, place.eave(longer), {"spans 1 epoch,", "ask for 2 epochs", "stretch", "hold"});
  std::filesystem::copy(place.path() / "run", place.path() / "other", std::filesystem::copy_options::recursive);
  expect_told(0, place.eave(longer + "--extend-schedule hold"), {"from step 8 the rate stays at"});
  const std::vector<double> held = rates_in(place);
  ASSERT_EQ(held.size(), 14U);
  for (std::size_t step = 0; step < 14; ++step) EXPECT_EQ(held[step], first[std::min<std::size_t>(step, 6)]) << step;
  // The run looks as if it had been killed. The same command resumes it. The command without the option is refused.
  std::filesystem::remove(place.path() / "run/summary.json");
  std::filesystem::remove(place.path() / "run/model.safetensors");
  expect_told(78, place.eave(longer + "--epochs 3"), {"spans 1 epoch,", "ask for 3 epochs"});
  expect_told(0, place.eave(longer + "--epochs 3 --extend-schedule hold"), {"from step 15 the rate stays at"});
  EXPECT_EQ(rates_in(place).back(), first.back());
  expect_parts(place.read("run/config.json"), {R"("extend-schedule": "hold")"});
  expect_told(0, place.eave(longer + "--run-dir other --extend-schedule stretch"), {"the rate of step 8 is 0.025"});
}

TEST(Resumption, that_is_asked_for_no_more_says_so_and_advises_what_was_not_given) {
  const Place place;
  const std::string words = quick("--run-dir run --lr-schedule cosine ");
  expect_told(0, place.eave(words + "--epochs 2"));
  const Ended shorter = place.eave(words + "--resume on --epochs 1 --extend-schedule stretch");
  expect_told(64, shorter, {"and 13 are asked for; give more --epochs"});
  EXPECT_FALSE(shorter.says("--extend-schedule")) << shorter.errors;
  expect_told(64, place.eave(words + "--resume on --epochs 2.0001"),
              {"has done 26 steps, and the options ask for as many, rounded to whole steps (--epochs 2.0001)",
               "--extend-schedule stretch or hold"});
}

TEST(Resumption, that_is_asked_for_no_more_names_the_option_that_limits_it) {
  const Place place;
  const std::string words = quick("--epochs 5 --run-dir run ");
  expect_told(0, place.eave(words + "--max-steps 6"));
  expect_told(64, place.eave(words + "--resume on --max-steps 6"),
              {"has done 6 steps, and the options ask for as many (--max-steps 6); give more --max-steps"});
  expect_told(64, place.eave(words + "--resume on --max-samples 48"),
              {"as many, rounded to whole steps (--max-samples 48); give more --max-samples"});
  expect_told(64, place.eave(words + "--max-tokens 1e6"), {"--max-tokens", "--data"});
  const std::string without =
      "train --data synthetic --synthetic-samples 97 --synthetic-test-samples 23 --synthetic-size 8 --model \"flatten; "
      "dense classes\" ";
  expect_told(0, place.eave(without + "--max-steps 1000"),
              {"--max-steps 1000 will not be reached: the run ends after 5 epochs, the default", "give --epochs too"});
  for (const char* given : {"--epochs 2 --max-steps 1000", "--max-steps 3"})
    EXPECT_FALSE(place.eave(without + given).says("will not be reached")) << given;
}

// Each rank has a directory of its own, as on hosts without a shared file system.
TEST(Resumption, warns_where_rank_0_has_no_run_and_another_rank_has_one) {
  if (!has_mpirun()) GTEST_SKIP() << "no mpirun";
  const Place place;
  for (const char* host : {"a", "b"}) std::filesystem::create_directory(place.path() / host);
  const auto run_on = [&](const std::string& first, const std::string& second) {
    const std::string words = program() + " " + quick("--run-dir r --resume auto --communicator easgd --tau 2");
    return place.run("timeout -k 5 60 " + mpirun(1) + " -wdir " + first + " " + words + " : -np 1 -wdir " + second +
                     " " + words);
  };
  expect_told(0, run_on("a", "b"));
  expect_told(0, run_on("b", "a"), {"--resume: the run begins anew, because rank 0 (host ", "Rank 1 (host "});
  EXPECT_FALSE(expect_told(0, run_on("a", "b"), {"has ended"}).says("begins anew"));
}

TEST(Resumption, on_other_ranks_says_that_a_scaled_rate_changes) {
  const Place place;
  train_one_epoch(place, "--lr-scaling linear");
  const Ended ended =
      place.eave(quick("--lr-scaling linear --run-dir run --transport threads --ranks 3 --epochs 2 --resume elastic"));
  expect_told(0, ended, {"--lr-scaling linear: 3 ranks train now and 2 did before", "1.5 times"});
}

TEST(Resumption, on_other_ranks_is_refused_if_the_number_of_pushes_would_not_be_known) {
  const Place place;
  const std::string words = "--communicator adownpour --tau 2 --lr 0.01 --transport threads --run-dir ";
  const std::string total = quick(words + "total --batch 8 --batch-means total --ranks ");
  const std::string per_rank = quick(words + "per-rank --ranks ");
  expect_told(0, place.eave(total + "2"));
  expect_told(78, place.eave(total + "4 --epochs 2 --resume elastic"), {"the run had 2 workers, now it has 4"});
  expect_told(0, place.eave(total + "2 --epochs 2 --resume elastic"));
  expect_told(0, place.eave(per_rank + "2"));
  expect_told(0, place.eave(per_rank + "4 --epochs 2 --resume elastic"));
}

// An epoch has fewer steps on 4 ranks than on 1. If lines were kept by step number, lines of the first run would go.
TEST(Resumption, after_one_on_other_ranks_keeps_the_lines_from_before_both) {
  const Place place;
  const std::string words = "--transport threads --run-dir run --lr-schedule constant ";
  expect_told(0, place.eave(quick(words + "--ranks 1")));
  const std::string first = place.read("run/metrics.jsonl");
  const std::string steps = first.substr(0, first.rfind(R"({"type":"evaluation")"));
  expect_told(0, place.eave(quick(words + "--ranks 4 --epochs 2 --resume elastic")), {"resumed        after step"});
  expect_told(0, place.eave(quick(words + "--ranks 4 --epochs 3 --resume on")), {"resumed        after step"});
  EXPECT_TRUE(place.read("run/metrics.jsonl").starts_with(steps)) << steps;
  expect_told(0, place.eave("report run"));
}

TEST(Resumption, after_an_attempt_on_other_ranks_that_saved_nothing_goes_on_as_before_it) {
  const Place place;
  const std::string words = quick("--transport threads --run-dir run --lr-schedule constant ");
  expect_told(0, place.eave(words + "--ranks 2"));
  // One rank has done the first epoch in 13 steps, of half as many samples.
  expect_told(76, place.eave(words + "--ranks 1 --epochs 2 --resume elastic --inject-fault 0:15:nan-loss " +
                             "--on-nonfinite abort"));
  expect_told(0, place.eave(words + "--ranks 2 --epochs 2 --resume auto"), {"resumed        after step 7"});
  EXPECT_EQ(records_of(place, "header").size(), 2u);
  expect_told(0, place.eave("report run"));
  expect_told(0, place.eave(words + "--ranks 2 --epochs 3 --resume auto"), {"resumed        after step 14"});
}

// On one rank no line of a step was due before the checkpoint. Later resumes are compared with its header.
TEST(Resumption, keeps_a_header_without_lines_if_its_ranks_saved_the_checkpoint) {
  const Place place;
  const std::string words = quick("--transport threads --run-dir run --lr-schedule constant --checkpoint-every 2 ");
  expect_told(0, place.eave(words + "--ranks 2"));
  expect_told(76, place.eave(words + "--ranks 1 --epochs 2 --resume elastic --log-every 100 " +
                             "--inject-fault 0:25:nan-loss --on-nonfinite abort"));
  expect_told(0, place.eave(words + "--ranks 1 --epochs 2 --resume auto"), {"resumed        after step"});
  expect_told(0, place.eave("report run"));
}

TEST(Checkpoints, are_not_saved_of_replicas_that_differ) {
  const Place place;
  const std::string words = "train" + std::string(kQuick) + kTwo +
                            "--epochs 10 --checkpoint-every 4 --keep 100 --inject-fault 1:10:flip-bit:5:22 ";
  expect_told(70, place.eave(words), {"after step 12"});
  expect_told(0, place.eave("checkpoint verify run"), {"step 4: whole", "step 7: whole"});
  EXPECT_FALSE(std::filesystem::exists(place.path() / "run/checkpoint/step-000012"));
}

TEST(Checkpoints, of_a_run_that_goes_on_are_gone_on_from_though_it_had_ended_before) {
  const Place place;
  train_one_epoch(place);
  const std::string longer = quick(std::string(kTwo) + "--checkpoint-every 2 --epochs 4 --resume auto ");
  expect_told(76, place.eave(longer + "--inject-fault 0:12:nan-loss --on-nonfinite abort"));
  expect_told(0, place.eave(longer), {"resumed        after step"});
  expect_told(0, place.eave(longer), {"nothing is left to do"});
}

TEST(Checkpoints, are_named_if_the_model_is_of_an_earlier_end_of_the_run) {
  const Place place;
  train_one_epoch(place);
  expect_told(76, place.eave(quick(std::string(kTwo) + "--checkpoint-every 2 --epochs 4 --resume auto ") +
                             "--inject-fault 0:12:nan-loss --on-nonfinite abort"));
  const std::string first = quick("--run-dir second --initial-parameters run");
  for (const std::string& words : {std::string("export run --npy out"), std::string("generate run"), first}) {
    expect_told(66, place.eave(words),
                {"the run in run diverged, so its model.safetensors may be older than its last steps",
                 "eave checkpoint export run writes the model of its newest checkpoint, step 10",
                 "name run/model.safetensors to take that file all the same"});
  }
  expect_told(0, place.eave("export run/model.safetensors --npy out"));
  expect_told(0, place.eave("checkpoint verify run"), {"model.safetensors: whole; the run has gone on since"});
}

TEST(Checkpoints, are_not_needed_if_only_the_summary_could_not_be_written) {
  const Place place;
  train_one_epoch(place);
  std::filesystem::remove(place.path() / "run" / "summary.json");
  expect_told(0, place.eave("export run --npy out"));
}

}  // namespace
}  // namespace eave
