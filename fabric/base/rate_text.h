// A rate for people: "33.25 Gb/s".
#pragma once

#include <string>

#include "fabric/base/units.h"

namespace railweave {

inline std::string rate_text(RateMbps rate) {
  const bool negative = rate.value() < 0;
  const std::int64_t mbps = negative ? -rate.value() : rate.value();
  std::string text = (negative ? "-" : "") + std::to_string(mbps / 1000);
  if (mbps % 1000 != 0) {
    std::string rest = std::to_string(1000 + mbps % 1000).substr(1);
    while (rest.back() == '0') rest.pop_back();
    text += "." + rest;
  }
  return text + " Gb/s";
}

}  // namespace railweave
