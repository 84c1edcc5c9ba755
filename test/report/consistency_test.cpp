// Every reader refuses run files that contradict themselves. The message names the line, the field and both values.
#include "report/record/summary.h"
#include "test/report/damaged_run.h"

namespace eave {
namespace {

// Line numbers of the run, which has two ranks and batch 10: the header, then twice a step of each rank and an
// evaluation, then the end.
constexpr std::size_t kHeader = 0, kStep = 1, kStepOfRank1 = 2, kEvaluation = 3, kSecondStep = 4, kLastEvaluation = 6,
                      kEnd = 7;

class Consistency : public DamagedRun {
 protected:
  Consistency() {
    Json summary = lines_.back();
    summary.erase("type");
    place_.write("run/summary.json", summary.dump());
    place_.write("run/config.json", lines_.front().at("config").dump());
  }

  // Edits the lines and removes summary.json and config.json, which repeat what the lines said.
  void change(const std::function<void(JsonLines&)>& edit) const {
    for (const char* file : {"summary.json", "config.json"}) std::filesystem::remove(run_ / file);
    write(edit);
  }
  void write(const std::function<void(JsonLines&)>& edit) const {
    JsonLines lines = lines_;
    edit(lines);
    DamagedRun::write(lines);
  }

  std::string refusal_of_summary() const {
    return refusal([&] { read_summary_of_run(run_); });
  }

  void expect_refused(const std::string& line, const std::string& says,
                      const std::function<void(JsonLines&)>& edit) const {
    change(edit);
    for (const std::string& words : {refusal_of_report(), refusal_of_plan(), refusal_of_resume(), damage_in_watch()}) {
      expect_parts(words, {"line " + line, says, "copy"});
    }
  }
  void expect_taken(const std::function<void(JsonLines&)>& edit) const {
    change(edit);
    EXPECT_EQ(refusal_of_report(), "");
    EXPECT_EQ(damage_in_watch(), "");
    EXPECT_EQ(refusal_of_resume(), "");
  }
};

TEST_F(Consistency, of_a_whole_run_is_found_by_all) {
  EXPECT_EQ(refusal_of_report(), "");
  EXPECT_EQ(refusal_of_summary(), "");
  EXPECT_EQ(damage_in_watch(), "");
  EXPECT_EQ(refusal_of_resume(), "");
}

TEST_F(Consistency, holds_in_a_header) {
  expect_refused("1", "ranks[].rank is 0, but must be 1",
                 [](JsonLines& lines) { lines[kHeader]["ranks"][1]["rank"] = 0; });
  expect_refused("1", "communicator is 'easgd', but must be 'allreduce', as in config",
                 [](JsonLines& lines) { lines[kHeader]["communicator"] = "easgd"; });
  expect_refused("1", "its field model is missing", [](JsonLines& lines) { lines[kHeader].erase("model"); });
  change([](JsonLines& lines) { lines[kHeader]["format"] = 3; });
  for (const std::string& words : {refusal_of_report(), refusal_of_plan(), refusal_of_resume(), damage_in_watch()})
    expect_parts(words, {"it says format 3; this eave reads format 1 to 2: use the eave"});
}

TEST_F(Consistency, holds_between_headers_of_one_run) {
  const auto with_second = [](const std::function<void(Json&)>& edit) {
    return [edit](JsonLines& lines) {
      Json header = lines[kHeader];
      edit(header);
      lines.insert(lines.begin() + kSecondStep, header);
    };
  };
  expect_taken(with_second([](Json&) {}));
  expect_refused("5", "the number of ranks is 3, but must be 2", with_second([](Json& header) {
                   header["ranks"].push_back(header["ranks"][1]);
                   header["ranks"][2]["rank"] = 2;
                 }));
  expect_refused("5", "config: seed is '9', but must be '1'",
                 with_second([](Json& header) { header["config"]["seed"] = "9"; }));
  expect_refused("5", "parameters is 5, but must be 0", with_second([](Json& header) { header["parameters"] = 5; }));
}

TEST_F(Consistency, lets_an_elastic_run_count_its_steps_anew) {
  expect_taken([](JsonLines& lines) {
    Json header = lines[kHeader];
    header["config"]["resume"] = "elastic";
    for (int rank : {2, 3}) {
      header["ranks"].push_back(header["ranks"][1]);
      header["ranks"][static_cast<std::size_t>(rank)]["rank"] = rank;
    }
    lines.insert(lines.begin() + kSecondStep, header);
    for (std::size_t i = kSecondStep + 1; i <= kLastEvaluation + 1; ++i) lines[i]["step"] = 25;
    Json& end = lines.back();
    end["evaluation"]["step"] = end["steps"] = 25;
    end["ranks"] = end["workers"] = 4;
  });
}

TEST_F(Consistency, holds_between_steps) {
  const auto in_step = [](const char* field, Json value) {
    return [field, value](JsonLines& lines) { lines[kSecondStep][field] = value; };
  };
  expect_refused("5", "rank is 2, but must be at most 1", in_step("rank", 2));
  expect_refused("5", "step is 25, but must be at least 26", in_step("step", 25));
  expect_refused("5", "samples is 2000, but must be at most 1000", [](JsonLines& lines) {
    lines[kSecondStep]["samples"] = 2000;
    lines[kSecondStep]["epoch"] = 2.0;
  });
  expect_refused("5", "samples is 400, but must be at least 500", in_step("samples", 400));
  expect_refused("5", "epoch is 3, but must be 1, samples / train_samples", in_step("epoch", 3.0));
  expect_refused("5", "seconds is 3, but must be at least 4", in_step("seconds", 3.0));
  expect_refused("5", "waiting is 1e+09, but must be at most 4, the seconds since", in_step("waiting", 1e9));
  expect_refused("5", "computing + loading + waiting is 5.5, but must be at most 4", in_step("loading", 2.5));
  expect_refused("5", "exchanging is 1e+09, but must be at most ", in_step("exchanging", 1e9));
  expect_refused("3", "rank is 1, which does not train", [](JsonLines& lines) {
    lines[kHeader]["config"]["batch"] = "20";
    lines[kHeader]["ranks"][1]["trains"] = false;
  });
}

TEST_F(Consistency, holds_in_an_evaluation) {
  const auto in_evaluation = [](const std::function<void(Json&)>& edit) {
    return [edit](JsonLines& lines) { edit(lines[kEvaluation]); };
  };
  expect_refused("4", "step is 24, but must be at least 25", in_evaluation([](Json& line) { line["step"] = 24; }));
  expect_refused("4", "samples is 480, but must be 500", in_evaluation([](Json& line) {
                   line["samples"] = 480;
                   line["epoch"] = 0.48;
                 }));
  expect_refused("4", "best_worker.rank is 2, but must be at most 1",
                 in_evaluation([](Json& line) { line["best_worker"]["rank"] = 2; }));
  expect_refused("4", "best_worker.accuracy is 0.25, but must be at least 0.5, first_worker.accuracy",
                 in_evaluation([](Json& line) { line["best_worker"]["accuracy"] = 0.25; }));
  expect_refused("4", "consensus_distance.min is 3, but must be at most 0",
                 in_evaluation([](Json& line) { line["consensus_distance"]["min"] = 3.0; }));
  expect_refused("5", "step is 50, but must be at least 61, above the step of the evaluation before",
                 in_evaluation([](Json& line) { line["step"] = 60; }));
}

TEST_F(Consistency, holds_between_the_end_and_the_lines_before_it) {
  const auto in_end = [](const std::function<void(Json&)>& edit) {
    return [edit](JsonLines& lines) { edit(lines[kEnd]); };
  };
  expect_refused("8", "evaluation.center.accuracy is 0.25, but must be 0.75, as in the line of the last evaluation",
                 in_end([](Json& end) { end["test_accuracy"] = end["evaluation"]["center"]["accuracy"] = 0.25; }));
  expect_refused("8", "test_accuracy is 0.25, but must be 0.75",
                 in_end([](Json& end) { end["test_accuracy"] = 0.25; }));
  expect_refused("8", "steps is 50, but must be 5000, evaluation.step",
                 in_end([](Json& end) { end["evaluation"]["step"] = 5000; }));
  expect_refused("8", "seconds is 7, but must be at least 8", in_end([](Json& end) { end["seconds"] = 7.0; }));
  expect_refused("8", "samples_per_second * seconds is ", in_end([](Json& end) { end["samples_per_second"] = 5.0; }));
  expect_refused("8", "bytes_per_rank is 599, but must be at least 600",
                 in_end([](Json& end) { end["bytes_per_rank"] = 599; }));
  expect_refused("8", "ranks is 3, but must be 2", in_end([](Json& end) { end["ranks"] = 3; }));
  expect_refused("8", "communicator is 'easgd', but must be 'allreduce'",
                 in_end([](Json& end) { end["communicator"] = "easgd"; }));
}

TEST_F(Consistency, has_nothing_behind_an_end_but_a_header) {
  expect_refused("9", "behind the end of the run in line 8", [](JsonLines& lines) { lines.push_back(lines[kEnd]); });
  expect_refused("9", "behind the end of the run in line 8",
                 [](JsonLines& lines) { lines.push_back(lines[kLastEvaluation]); });
  expect_taken([](JsonLines& lines) { lines.push_back(lines[kHeader]); });
}

TEST_F(Consistency, needs_a_type_on_every_line) {
  expect_refused("6", "its field type is missing", [](JsonLines& lines) { lines[kSecondStep + 1].erase("type"); });
}

TEST_F(Consistency, is_not_broken_by_lines_that_are_missing) {
  expect_taken([](JsonLines& lines) { lines.erase(lines.begin() + kLastEvaluation); });
  expect_taken([](JsonLines& lines) { lines.erase(lines.begin() + kStep, lines.begin() + kEnd); });
  expect_taken([](JsonLines& lines) { lines.erase(lines.begin() + kStepOfRank1); });
  expect_taken([](JsonLines& lines) { lines.pop_back(); });
}

TEST_F(Consistency, holds_between_summary_json_and_the_end) {
  const std::string whole = place_.read("run/summary.json");
  for (const auto& [field, value] : std::map<std::string, Json>{{"bytes_per_rank", 700}, {"peak_memory_bytes", 7}}) {
    Json summary = Json::parse(whole);
    summary[field] = value;
    place_.write("run/summary.json", summary.dump());
    for (const std::string& words : {refusal_of_report(), refusal_of_summary(), refusal_of_plan()}) {
      expect_parts(words, {"run/summary.json: " + field + " is " + value.dump() + ", but must be ",
                           "the end of metrics.jsonl; put back a copy of both files"});
    }
  }
  Json summary = Json::parse(whole);
  summary["evaluation"]["step"] = 5000;
  place_.write("run/summary.json", summary.dump());
  expect_parts(refusal_of_summary(), {"steps is 50, but must be 5000, evaluation.step; put back"});
}

TEST_F(Consistency, holds_between_config_json_and_the_header) {
  Json config = lines_.front().at("config");
  config["communicator"] = "easgd";
  place_.write("run/config.json", config.dump());
  const std::string says = "run/config.json: communicator is 'easgd', but must be 'allreduce', as in the header";
  for (const std::string& words : {refusal_of_report(), refusal_of_plan(), refusal_of_resume()})
    expect_parts(words, {says});
  config["communicator"] = "allreduce";
  config["progress"] = "off";
  place_.write("run/config.json", config.dump());
  EXPECT_NE(refusal_of_report().find("progress is 'off'"), std::string::npos) << "of a run that has ended";
  write([](JsonLines& lines) { lines.pop_back(); });
  EXPECT_EQ(refusal_of_report(), "") << "a run that was killed before its new header";
}

TEST_F(Consistency, is_told_without_the_words_of_a_library) {
  const std::string whole = place_.read("run/summary.json");
  for (const std::string field : {"communicator", "steps", "waiting_share", "evaluation"}) {
    for (const Json& value : {Json(), Json::array(), Json("x\x1b")}) {
      Json summary = Json::parse(whole);
      value.is_null() ? static_cast<void>(summary.erase(field)) : static_cast<void>(summary[field] = value);
      if (field == "communicator" && value.is_string()) continue;
      place_.write("run/summary.json", summary.dump());
      const std::string words = refusal_of_summary();
      expect_parts(words, {field, "put back a copy"});
      EXPECT_EQ(words.find("json.exception"), std::string::npos) << words;
    }
  }
  place_.write("run/summary.json", whole.substr(0, 40));
  expect_parts(refusal_of_summary(), {"line 1 is no JSON, or the file ends too early"});
}

}  // namespace
}  // namespace eave
