#include "app/run/rank_facts.h"

#include <cstdint>
#include <sstream>

#include "app/main/machine.h"
#include "eave/dataset.h"

namespace eave {
namespace {

std::string pack(const RankFacts& facts) {
  std::string text = facts.host + "\n" + facts.device + "\n" + facts.cores + "\n" + (facts.trains ? "1" : "0") + "\n";
  text += std::to_string(facts.limits.memory_bytes) + " " + std::to_string(facts.limits.cores) + "\n";
  for (std::int64_t count : facts.class_histogram) text += std::to_string(count) + " ";
  return text;
}

RankFacts unpack_rank(const std::string& text) {
  RankFacts facts;
  std::istringstream lines(text);
  std::getline(lines, facts.host);
  std::getline(lines, facts.device);
  std::getline(lines, facts.cores);
  lines >> facts.trains >> facts.limits.memory_bytes >> facts.limits.cores;
  for (std::int64_t count = 0; lines >> count;) facts.class_histogram.push_back(count);
  return facts;
}

}  // namespace

std::vector<RankFacts> gather_facts(Transport& transport, const RankFacts& mine) {
  std::vector<RankFacts> ranks;
  for (const std::string& text : transport.gather(pack(mine))) ranks.push_back(unpack_rank(text));
  return ranks;
}

std::vector<std::string> describe_ranks(const std::vector<RankFacts>& ranks, int threads) {
  std::vector<std::string> warnings;
  const std::string oversubscription = describe_oversubscription(ranks, threads);
  if (!oversubscription.empty()) warnings.push_back(oversubscription);
  std::vector<std::int64_t> all(ranks.front().class_histogram.size());
  for (const RankFacts& rank : ranks) {
    for (std::size_t i = 0; i < all.size(); ++i) all[i] += rank.class_histogram[i];
  }
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const std::string imbalance = describe_imbalance(ranks[rank].class_histogram, all, static_cast<int>(rank));
    if (!imbalance.empty()) warnings.push_back(imbalance);
  }
  return warnings;
}

}  // namespace eave
