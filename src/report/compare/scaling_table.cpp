#include "report/compare/scaling_table.h"

#include <map>
#include <set>

namespace eave {
namespace {

using RanksColumn = std::map<int, std::size_t>;  // variant by ranks

class ScalingTables {
 public:
  ScalingTables(const std::vector<Variant>& variants, bool total) : variants_(variants), total_(total) {}

  std::optional<ScalingTable> table(const std::string& method, const std::string& place) const {
    std::map<double, RanksColumn> columns;
    for (std::size_t i = 0; i < variants_.size(); ++i) {
      const Variant& variant = variants_[i];
      if (is_usable(variant) && variant.method == method && variant.place == place)
        columns[batch(variant)][variant.ranks] = i;
    }
    for (auto& [size, column] : columns) add_one_rank(size, column);
    std::erase_if(columns, [](const auto& entry) { return entry.second.size() < 2; });
    if (columns.empty()) return std::nullopt;
    return filled(method, place, columns);
  }

 private:
  static bool is_usable(const Variant& variant) { return variant.chosen && variant.accuracy.has_value(); }
  double batch(const Variant& variant) const { return total_ ? variant.total_batch : variant.batch_per_rank; }

  void add_one_rank(double size, RanksColumn& column) const {
    if (column.contains(1)) return;
    const Variant& like = variants_[column.begin()->second];
    std::optional<std::size_t> fastest;
    for (std::size_t i = 0; i < variants_.size(); ++i) {
      const Variant& one = variants_[i];
      if (!is_usable(one) || one.ranks != 1 || batch(one) != size || !share_machine(one, like)) continue;
      if (!fastest || one.samples_per_second->mean > variants_[*fastest].samples_per_second->mean) fastest = i;
    }
    if (fastest) column[1] = *fastest;
  }

  ScalingTable filled(const std::string& method, const std::string& place,
                      const std::map<double, RanksColumn>& columns) const {
    ScalingTable table{method, place, total_, {}, {}};
    std::set<int> ranks;
    for (const auto& [size, column] : columns) {
      table.batches.push_back(size);
      for (const auto& [count, unused] : column) ranks.insert(count);
    }
    for (const int count : ranks) {
      ScalingTable::Row row{count, {}};
      for (const auto& [unused, column] : columns) row.cells.push_back(cell(column, count));
      table.rows.push_back(row);
    }
    return table;
  }

  std::optional<ScalingTable::Cell> cell(const RanksColumn& column, int ranks) const {
    const auto found = column.find(ranks);
    if (found == column.end()) return std::nullopt;
    ScalingTable::Cell cell{found->second, std::nullopt};
    const auto one = column.find(1);
    if (one == column.end()) return cell;
    const Variant &variant = variants_[cell.variant], &alone = variants_[one->second];
    if (alone.samples_per_second->mean > 0 && !alone.changed_ranks && !variant.changed_ranks)
      cell.speedup = variant.samples_per_second->mean / alone.samples_per_second->mean;
    return cell;
  }

  const std::vector<Variant>& variants_;
  bool total_;
};

}  // namespace

std::vector<ScalingTable> scaling_tables(const std::vector<Variant>& variants) {
  std::set<std::pair<std::string, std::string>> methods;
  for (const Variant& variant : variants) {
    if (variant.ranks > 1) methods.insert({variant.place, variant.method});
  }
  std::vector<ScalingTable> tables;
  for (const auto& [place, method] : methods) {
    for (const bool total : {false, true}) {
      if (const auto table = ScalingTables(variants, total).table(method, place)) tables.push_back(*table);
    }
  }
  return tables;
}

}  // namespace eave
