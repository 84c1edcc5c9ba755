// The page of a report: one HTML file that needs nothing else.
#pragma once

#include <string>
#include <string_view>

#include "report/comparison.h"

namespace eave {

struct PageFacts {
  std::string title, made, version;
};

// page.html, whose script draws what stands where the placeholder is: /*EAVE_DATA*/null.
std::string_view page_template();

// The page with its data (page_data.h), written so that no text in it can end the script or begin another.
std::string report_page(const Comparison& comparison, const PageFacts& facts);

}  // namespace eave
