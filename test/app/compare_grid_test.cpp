#include "app/compare/compare_grid.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "app/compare/compare_runs.h"
#include "app/compare/compare_widening.h"
#include "eave/check.h"
#include "test/expectations.h"

namespace eave {
namespace {

const char* const kNoEnvironment[] = {nullptr};

Grid grid_of(const std::vector<std::string>& words, int ranks) {
  CommandLine line("usage");
  line.add_group("What is compared", compare_options());
  const ComparedWords parted = split_words(words);
  return read_grid(line.parse(parted.own, kNoEnvironment), parted.of_train, ranks);
}

std::vector<std::string> labels_of(const Grid& grid) {
  std::vector<std::string> labels;
  for (const RunGroup& group : grid.groups) labels.push_back(group.label());
  return labels;
}

bool has(const std::vector<std::string>& words, const std::string& word) {
  return std::ranges::find(words, word) != words.end();
}

TEST(Grid, holds_one_rank_and_allreduce_whatever_is_compared) {
  const Grid grid = grid_of({"--communicators", "easgd:tau=10:alpha=0.1", "--ranks", "2,4"}, 4);
  EXPECT_EQ(labels_of(grid),
            (std::vector<std::string>{"one rank, batch 32", "allreduce, 2 ranks, batch 32",
                                      "easgd tau=10 alpha=0.1, 2 ranks, batch 32", "allreduce, 4 ranks, batch 32",
                                      "easgd tau=10 alpha=0.1, 4 ranks, batch 32"}));
  EXPECT_EQ(grid.count(), 15u);
}

TEST(Grid, names_each_method_once_and_takes_all_ranks_where_none_are_given) {
  const Grid grid = grid_of({"--communicators=easgd,allreduce", "--batch=32,128", "--seeds=1"}, 3);
  EXPECT_EQ(grid.groups.size(), 2 * 3u);
  EXPECT_EQ(grid.groups.back().ranks, 3);
}

TEST(Grid, tunes_each_method_with_the_first_seed_and_repeats_the_best_rate) {
  const Grid grid =
      grid_of({"--communicators", "allreduce,easgd,easgd:tau=4:lr=0.5", "--lr", "0.1,0.2", "--seeds", "3"}, 2);
  ASSERT_EQ(grid.groups.size(), 4u);
  EXPECT_EQ(grid.groups[3].rates, std::vector<std::string>{"0.5"});
  const std::vector<Cell> first = grid.first_cells();
  EXPECT_EQ(first.size(), 7u);
  EXPECT_TRUE(std::ranges::all_of(first, [](const Cell& cell) { return cell.seed == 1; }));
  const std::string best = "0.2";
  const std::vector<Cell> further = grid.further_cells({&best, nullptr, &best, &grid.groups[3].rates[0]});
  ASSERT_EQ(further.size(), 6u);
  EXPECT_EQ(further[0].seed, 2);
  EXPECT_EQ(further[2].rate, "0.5");
  EXPECT_EQ(further[3].seed, 3) << "seed by seed";
  EXPECT_EQ(grid.count(), 7 + 4 * 2u);
  EXPECT_TRUE(has(grid.words_of(first[0]), "--validation-share=0.1"));
}

TEST(Grid, gives_every_cell_a_name_of_its_own_that_is_safe_for_a_directory) {
  const Grid grid = grid_of({"--communicators", "easgd:tau=10,easgd:tau=1,gossip:tau=1", "--ranks", "1,2", "--batch",
                             "8,16", "--lr", "0.1,1e-3"},
                            2);
  std::set<std::string> names;
  for (const Cell& cell : grid.first_cells()) {
    EXPECT_TRUE(names.insert(cell.name).second) << cell.name;
    EXPECT_EQ(cell.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789.-"), std::string::npos) << cell.name;
  }
}

TEST(Grid, tells_runs_of_the_same_seed_the_same_but_for_the_method) {
  const Grid grid =
      grid_of({"--communicators", "easgd:tau=10", "--model", "lenet", "--flip", "--slow-rank=1:4x", "--shape-compute",
               "2ms", "--transport", "threads", "--seeds", "1", "--budget", "samples=1000"},
              2);
  const std::vector<std::string> one = grid.words_of(grid.first_cells()[0]), sum = grid.words_of(grid.first_cells()[1]);
  for (const auto& words : {one, sum}) {
    for (const char* word :
         {"--model=lenet", "--shape-compute=2ms", "--flip=on", "--batch=32", "--seed=1", "--max-samples=1000"})
      EXPECT_TRUE(has(words, word)) << word;
  }
  EXPECT_TRUE(has(one, "--communicator=none"));
  EXPECT_TRUE(has(one, "--ranks=1"));
  EXPECT_FALSE(has(one, "--slow-rank=1:4x")) << "one rank has nobody to wait for it";
  EXPECT_TRUE(has(sum, "--slow-rank=1:4x"));
  EXPECT_TRUE(has(sum, "--ranks=2"));
}

TEST(Grid, refuses_what_makes_no_comparison) {
  const std::vector<std::vector<std::string>> wrong = {
      {"--ranks", "2,4"},
      {"--ranks", "0"},
      {"--ranks", "2,2"},
      {"--communicators", "easgd:tau"},
      {"--communicators", "easgd,,none"},
      {"--communicators", "easgd:seed=2"},
      {"--communicators", "easgd:transport=threads"},
      {"--communicators", "easgd:config=train.ini"},
      {"--communicators", "easgd:print-config=on"},
      {"--communicators", "easgd:checkpoint=on"},
      {"--communicators", "easgd:keep=2"},
      {"--communicators", "easgd:limit-checkpoint=1m"},
      {"--communicators", "easgd,easgd"},
      {"--seed", "3"},
      {"--run-dir", "x"},
      {"--seeds", "0"},
      {"--budget", "hours=3"},
      {"--budget", "epochs="},
      {"--budget", "epochs=3", "--epochs", "2"},
      {"--lr", "0.1,0.10"},
      {"--lr", "0.1,x"},
      {"--lr", "1e-3,1e+3"},
      {"--communicators", "easgd:tau=2:lr=0.1,easgd:tau=2", "--lr", "0.1,0.2"},
      {"--budget", "bytes=1GB", "--communicators", "none"},
      {"stray"}};
  for (const auto& words : wrong) EXPECT_THROW(grid_of(words, 2), Error) << words.front() << " " << words.back();
}

TEST(Grid, of_lists_with_blanks_is_that_of_lists_without) {
  const Grid plain = grid_of({"--communicators", "easgd:tau=2:alpha=0.1,allreduce", "--ranks", "2,4", "--batch", "8,16",
                              "--lr", "0.1,0.2", "--budget", "time=10min"},
                             4);
  const Grid blank = grid_of({"--communicators", " easgd : tau=2 :alpha = 0.1, allreduce ", "--ranks", "2, 4",
                              "--batch", "8 ,16", "--lr", "0.1, 0.2", "--budget", "time = 10min"},
                             4);
  EXPECT_EQ(labels_of(blank), labels_of(plain));
  const std::vector<Cell> cells = plain.first_cells(), others = blank.first_cells();
  ASSERT_EQ(cells.size(), others.size());
  for (std::size_t i = 0; i < cells.size(); ++i) {
    EXPECT_EQ(others[i].name, cells[i].name);
    EXPECT_EQ(blank.words_of(others[i]), plain.words_of(cells[i]));
  }
}

std::string refused_grid(const std::vector<std::string>& words) {
  return refusal_by([&] { grid_of(words, 2); });
}

TEST(Grid, of_an_option_given_twice_keeps_the_last_value_alone) {
  const Grid grid = grid_of({"--model", "mlp", "--flip", "--model=lenet"}, 2);
  EXPECT_EQ(std::ranges::count(grid.settings, Settings::value_type("model", "lenet")), 1);
  EXPECT_EQ(std::ranges::count(grid.settings, "model", &Settings::value_type::first), 1);
}

TEST(Grid, names_the_item_that_is_wrong_and_the_word_that_is_near) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"--communicators", "esagd,allreduce"}, "there is no 'esagd'; expected some of"},
      {{"--communicators", "esagd,allreduce"}, "; did you mean easgd?"},
      {{"--communicators", "easgd:tau=1:tau=2"}, "tau is given twice"},
      {{"--communicators", "easgd::tau=1,allreduce"}, "item 2 of 'easgd::tau=1' is empty"},
      {{"--ranks", "1,,2"}, "item 2 is empty"},
      {{"--ranks", "1,2,"}, "item 3 is empty"},
      {{"--ranks", "1;2"}, "'1;2': expected a whole number"},
      {{"--ranks", "1,+2"}, "leave out the +"},
      {{"--batch", "8,08"}, "names 08 twice"},
      {{"--batch", "8,many"}, "'many': expected a whole number"},
      {{"--lr", "0.1,0x1p-3"}, "'0x1p-3': expected a finite number"},
      {{"--lr", "0.1,inf"}, "'inf': expected a finite number"},
      {{"--budget", "tiem=60s"}, "; did you mean time?"},
      {{"--budget", "time=60"}, "expected time= and a time with its unit"},
      {{"--budget", "bytes=10Gb"}, "such as 10GB: B is bytes"},
      {{"--budget", "time=0s"}, "expected more than 0"}};
  for (const auto& [words, says] : cases)
    EXPECT_NE(refused_grid(words).find(says), std::string::npos) << refused_grid(words);
}

// The words of a method come after those of the budget, so it would win.
TEST(Grid, refuses_a_length_of_one_method_beside_a_budget) {
  for (const std::string length : {"epochs=5", "max-samples=9", "max-steps=2", "stop-after-time=1s"}) {
    const std::vector<std::string> words = {"--communicators", "easgd:" + length};
    EXPECT_EQ(refused_grid(words), "accepted");
    for (const char* budget : {"epochs=2", "samples=1000"}) {
      std::vector<std::string> both = words;
      both.insert(both.end(), {"--budget", budget});
      EXPECT_NE(refused_grid(both).find("contradicts " + length + " of easgd"), std::string::npos)
          << refused_grid(both);
    }
  }
}

TEST(Widening, goes_out_by_the_ratio_to_the_neighbour) {
  const std::vector<std::string> rates = {"0.1", "0.02", "0.05"};
  EXPECT_EQ(rate_beyond(rates, &rates[0]), "0.2");
  EXPECT_EQ(rate_beyond(rates, &rates[1]), "0.008");
  EXPECT_EQ(rate_beyond(rates, &rates[2]), "") << "the best lies inside";
  EXPECT_EQ(rate_beyond(rates, nullptr), "0.008") << "all diverged";
  EXPECT_EQ(rate_beyond({"0.1"}, nullptr), "") << "nothing was tried beside it";
}

TEST(Widening, adds_runs_with_the_first_seed_to_the_groups_whose_best_is_at_the_edge) {
  Grid grid = grid_of({"--ranks", "1,2", "--lr", "0.1,0.2", "--widen"}, 2);
  const std::string inside = "0.15";
  const std::vector<Cell> none = widen(grid, std::vector<const std::string*>(grid.groups.size(), &inside), {});
  EXPECT_TRUE(none.empty());
  std::vector<const std::string*> chosen(grid.groups.size(), &inside);
  const std::string highest = "0.2";
  chosen[1] = &highest;
  const std::vector<Cell> cells = widen(grid, chosen, {});
  ASSERT_EQ(cells.size(), 1u);
  EXPECT_EQ(cells[0].group, 1u);
  EXPECT_EQ(cells[0].rate, "0.4");
  EXPECT_EQ(cells[0].seed, 1);
  EXPECT_EQ(grid.groups[1].rates, (std::vector<std::string>{"0.1", "0.2", "0.4"}));
  EXPECT_NE(refused_grid({"--widen"}).find("give two learning rates or more"), std::string::npos);
}

TEST(Widening, adds_a_group_with_the_next_value_of_an_option_at_the_rates_of_the_best) {
  Grid grid = grid_of({"--communicators", "easgd:tau=4,easgd:tau=16", "--lr", "0.1,0.2", "--widen"}, 2);
  ASSERT_EQ(grid.groups.size(), 4u);
  const std::string inside = "0.15";
  const std::vector<const std::string*> chosen(grid.groups.size(), &inside);
  const std::vector<OptionStep> steps = steps_in(text_of({{3, "tau", "64"}}));
  const std::vector<Cell> cells = widen(grid, chosen, steps);
  ASSERT_EQ(cells.size(), 2u);
  EXPECT_EQ(grid.groups.back().label(), "easgd tau=64, 2 ranks, batch 32");
  EXPECT_EQ(cells[1].name, "easgd-tau-64-p2-b32-lr0.2-seed1");
  EXPECT_TRUE(widen(grid, std::vector<const std::string*>(grid.groups.size(), &inside), steps).empty()) << "is there";
}

TEST(Widening, of_an_option_needs_two_values_that_differ_in_nothing_else) {
  const std::string says = "two values of a method's option";
  EXPECT_NE(refused_grid({"--communicators", "easgd:tau=4", "--widen"}).find(says), std::string::npos);
  EXPECT_NE(refused_grid({"--communicators", "easgd:tau=4,local-sgd:tau=16", "--widen"}).find(says), std::string::npos);
  EXPECT_NE(refused_grid({"--communicators", "easgd:tau=4:alpha=0.1,easgd:tau=16:alpha=0.2", "--widen"}).find(says),
            std::string::npos);
  EXPECT_NE(refused_grid({"--communicators", "easgd:tau=4,easgd:tau=16", "--part", "1/2", "--widen"}).find(says),
            std::string::npos);
  const Grid grid = grid_of({"--communicators", "easgd:alpha=0.1:tau=4,easgd:tau=4:alpha=0.2", "--widen"}, 2);
  EXPECT_TRUE(has_setting(grid.settings, "validation-share")) << "the best value is chosen like a rate";
}

TEST(Grid, of_equal_bytes_has_no_rank_by_itself) {
  const Grid grid = grid_of({"--budget", "bytes=1GB", "--ranks", "1,2"}, 2);
  EXPECT_EQ(labels_of(grid), (std::vector<std::string>{"allreduce, 2 ranks, batch 32", "easgd, 2 ranks, batch 32"}));
}

TEST(Grid, of_one_rank_has_no_methods_to_compare) {
  EXPECT_THROW(grid_of({"--communicators", "easgd:tau=10"}, 1), Error);
  EXPECT_EQ(grid_of({}, 1).groups.size(), 1u);
}

TEST(SideBySide, are_blocks_of_ranks_that_share_no_host) {
  EXPECT_EQ(blocks_side_by_side({"a", "a", "a", "a"}, 2), 1);
  EXPECT_EQ(blocks_side_by_side({"a", "a", "b", "b"}, 2), 2);
  EXPECT_EQ(blocks_side_by_side({"a", "a", "b", "b"}, 1), 1) << "the second rank is on the first one's host";
  EXPECT_EQ(blocks_side_by_side({"a", "b", "c", "d"}, 1), 4);
  EXPECT_EQ(blocks_side_by_side({"a", "b", "c", "d"}, 3), 1);
  EXPECT_EQ(blocks_side_by_side({"a", "b", "c", "d"}, 4), 1);
  EXPECT_EQ(blocks_side_by_side({"a", "b", "a", "b"}, 2), 1);
  EXPECT_EQ(blocks_side_by_side({"a", "a", "b", "c"}, 2), 1) << "hosts shared otherwise";
}

TEST(SameComparison, may_be_watched_in_another_way) {
  for (const char* option : {"limit-step", "limit-checkpoint"})
    EXPECT_NO_THROW(
        require_same_comparison({{option, "3s"}, {"lr", "0.1"}}, {{option, "10min"}, {"lr", "0.1"}}, "all"));
  expect_error(ExitCode::kConfiguration, "was made with --lr 0.1, now it is 0.2", [] {
    require_same_comparison({{"lr", "0.1"}}, {{"lr", "0.2"}}, "all");
  });
}

}  // namespace
}  // namespace eave
