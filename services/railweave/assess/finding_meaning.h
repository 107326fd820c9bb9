// What findings of a fabric's cabling and of its sources mean to whoever runs the site.
#pragma once

#include <string_view>

namespace railweave::cli {

struct FindingMeaning {
  std::string_view code, sure, cost, action;
};

// Of a code of the findings of fabric/topology/checks and of the readers that is an error or a warning there. Another code is
// answered in general words, without a code.
const FindingMeaning& meaning_of(std::string_view code);

}  // namespace railweave::cli
