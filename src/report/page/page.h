// Writes the page of a report as one HTML file that needs no other file.
#pragma once

#include <string>
#include <string_view>

#include "report/compare/comparison.h"

namespace eave {

struct PageFacts {
  std::string title, made, version;
  std::string notes = {};  // a person's own, plain text; the page shows its lines
};

// page.html. Its script draws the data that replaces the placeholder /*EAVE_DATA*/null.
std::string_view page_template();

// The page with its data (page_data.h). The data is escaped so that no text in it can end the script or begin another.
std::string report_page(const Comparison& comparison, const PageFacts& facts);

}  // namespace eave
