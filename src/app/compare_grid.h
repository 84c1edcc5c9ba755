// Which runs a comparison has, and what each is told.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "app/command_line.h"
#include "eave/options.h"

namespace eave {

using Settings = std::vector<std::pair<std::string, std::string>>;  // names of options and their values
bool has_setting(const Settings& settings, const std::string& name);

// A communicator with options of its own: "easgd:tau=10".
struct Method {
  std::string communicator;
  Settings options;
  std::string label() const;  // "easgd tau=10"
};

// The runs of one method with one number of ranks and one batch. They differ in learning rate and seed.
struct RunGroup {
  Method method;
  int ranks = 1;
  std::string batch;
  std::vector<std::string> rates;  // "": that of train
  std::string label() const;       // "easgd tau=10, 4 ranks, batch 32"
};

struct Cell {
  std::size_t group = 0;
  std::string rate;
  int seed = 1;
  std::string name;   // of its directory
  std::string label;  // for people
};

struct Grid {
  std::vector<RunGroup> groups;
  int seeds = 1;
  Settings settings;  // of every run

  // Every group at each of its rates, with the first seed.
  std::vector<Cell> first_cells() const;
  // With the other seeds, at the rate chosen for each group; nullptr: none was.
  std::vector<Cell> further_cells(const std::vector<const std::string*>& chosen) const;
  std::size_t count() const;  // of all cells, where a rate is chosen for each group
  bool tunes() const;         // some group has several rates

  Cell cell(std::size_t group, const std::string& rate, int seed) const;
  // What `eave train` would be told.
  std::vector<std::string> words_of(const Cell& cell) const;
};

}  // namespace eave
