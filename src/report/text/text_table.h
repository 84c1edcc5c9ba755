// Tables of texts, for the terminal and as CSV.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace eave {

struct TextTable {
  std::vector<std::string> titles;
  std::vector<std::vector<std::string>> rows;  // each as long as titles
  std::size_t texts = 1;                       // number of columns on the left that hold text; the others hold numbers
  const char* gap = "   ";                     // between two columns
};

// Aligns columns under their titles, text to the left and numbers to the right. "" if there are no rows.
std::string to_text(const TextTable& table);

// Writes RFC 4180 with the titles as first line. Text that a spreadsheet would take for a formula gets an apostrophe in
// front.
std::string to_csv(const TextTable& table);

}  // namespace eave
