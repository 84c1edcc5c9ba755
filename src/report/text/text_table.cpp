#include "report/text/text_table.h"

#include <algorithm>

#include "base/printable.h"
#include "report/text/terminal.h"

namespace eave {
namespace {

std::vector<std::size_t> widths_of(const TextTable& table) {
  std::vector<std::size_t> widths;
  for (const std::string& title : table.titles) widths.push_back(count_characters(title));
  for (const auto& row : table.rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], count_characters(printable(row[i])));
  }
  return widths;
}

std::string to_line(const TextTable& table, const std::vector<std::string>& cells,
                    const std::vector<std::size_t>& widths) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string cell = printable(cells[i]);
    const std::string blanks(widths[i] - count_characters(cell), ' ');
    line += (i == 0 ? "" : table.gap) + (i < table.texts ? cell + blanks : blanks + cell);
  }
  return line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
}

std::string csv_cell(const std::string& cell, bool is_text) {
  const bool is_formula = is_text && !cell.empty() && std::string("=+-@\t\r").find(cell[0]) != std::string::npos;
  std::string text = (is_formula ? "'" : "") + cell;
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  for (std::size_t quote = text.find('"'); quote != std::string::npos; quote = text.find('"', quote + 2)) {
    text.insert(quote, 1, '"');
  }
  return "\"" + text + "\"";
}

}  // namespace

std::string to_text(const TextTable& table) {
  if (table.rows.empty()) return "";
  const std::vector<std::size_t> widths = widths_of(table);
  std::vector<std::string> rule;
  for (const std::size_t each : widths) rule.emplace_back(each, '-');
  std::string text = to_line(table, table.titles, widths) + to_line(table, rule, widths);
  for (const auto& row : table.rows) text += to_line(table, row, widths);
  return text;
}

std::string to_csv(const TextTable& table) {
  std::string text;
  const auto add = [&](const std::vector<std::string>& cells) {
    for (std::size_t i = 0; i < cells.size(); ++i) text += (i == 0 ? "" : ",") + csv_cell(cells[i], i < table.texts);
    text += "\r\n";
  };
  add(table.titles);
  for (const auto& row : table.rows) add(row);
  return text;
}

}  // namespace eave
