#include "services/control/live/connection/subnet_log.h"

#include <algorithm>

#include <fmt/core.h>

namespace railweave::control {
namespace {

// As ids of requests are: letters, digits, dots and dashes.
std::string plain_id(std::string_view name) {
  constexpr std::size_t kMaxName = 40;
  std::string id(name.substr(0, kMaxName));
  std::ranges::replace_if(
      id,
      [](char c) { return !((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-'); },
      '.');
  return id;
}

}  // namespace

SubnetLog::SubnetLog(const log::Log& log, std::string_view subnet, std::int64_t started_us)
    : prefix_(fmt::format("{}-{:x}-", plain_id(subnet), static_cast<std::uint32_t>(started_us / 1'000))),
      subnet_(log.of(log::Subject::live).span("subnet", plain_id(subnet))),
      now_(subnet_) {}

const std::string& SubnetLog::round() {
  if (round_.empty()) {
    round_ = fmt::format("{}{}", prefix_, ++number_);
    now_ = subnet_.span("round", round_);
  }
  return round_;
}

}  // namespace railweave::control
