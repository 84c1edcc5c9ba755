// Tables for a terminal and for a spreadsheet.
#pragma once

#include <string>
#include <vector>

#include "base/printable.h"

namespace eave {

struct TextTable {
  std::vector<std::string> titles;
  std::vector<std::vector<std::string>> rows;  // each as long as titles
  std::size_t texts = 1;                       // so many columns at the left are texts, the others numbers
};

// Columns under their titles, texts to the left and numbers to the right. "" where there are no rows.
std::string to_text(const TextTable& table);

// RFC 4180, with the titles as first line. A text that a spreadsheet would take for a formula gets an apostrophe.
std::string to_csv(const TextTable& table);

}  // namespace eave
