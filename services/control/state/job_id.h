// The number of a job, for ever its own.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace railweave::control {

class JobId {
 public:
  constexpr JobId() = default;
  constexpr explicit JobId(std::uint64_t number) : number_(number) {}
  [[nodiscard]] constexpr std::uint64_t number() const { return number_; }
  friend constexpr auto operator<=>(JobId, JobId) = default;

 private:
  std::uint64_t number_ = 0;
};
std::string to_string(JobId id);  // "job-000123"
std::optional<JobId> parse_job_id(std::string_view text);

}  // namespace railweave::control
