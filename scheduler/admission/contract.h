// What a tenant is guaranteed and may use. A value; checked by check_contract().
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/base/enum_text.h"
#include "fabric/base/error.h"
#include "fabric/base/units.h"
#include "fabric/capacity/reservation.h"

namespace railweave::scheduler {

enum class RateBasis : std::uint8_t {
  per_port,  // each rate is that of every port
  per_job,   // each rate is divided over the job's ports
};

// What keeps a job's bandwidth from its neighbours; what of it is in force is another question (inForce in the API).
enum class Isolation : std::uint8_t {
  planned,       // the shares of classes alone
  within_class,  // agents on the nodes limit both sides inside the class
  lane,          // each job has a lane of its own on every link that it crosses
};
BOOST_DESCRIBE_ENUM(Isolation, planned, within_class, lane)
constexpr std::optional<std::string_view> enum_exception(Isolation isolation) {
  return isolation == Isolation::within_class ? std::optional<std::string_view>("class") : std::nullopt;
}

struct Contract {
  std::string tenant;
  RateMbps guaranteed;           // in each direction; 0: best effort only
  std::optional<RateMbps> most;  // in each direction, enforced at the source; none: the cable's rate
  RateBasis basis = RateBasis::per_port;
  fabric::TrafficPromise promise = fabric::TrafficPromise::hose;
  bool survives_link_failure = false;
  // Its jobs' adapter ports are limited members of the default partition: they reach each other in the tenant's own.
  bool isolated = false;
  Isolation isolation = Isolation::planned;
  std::vector<std::string> classes;  // allowed, the first by default; empty: all
  std::optional<std::uint64_t> max_gpus;
  std::optional<std::uint64_t> max_nvlink_domains;  // partitions held at one time
  // How much of a guarantee is reserved, in permille. Below 1000 the guarantee holds only while other tenants do not
  // use all of theirs.
  std::uint32_t reserved_permille = 1000;
  friend bool operator==(const Contract&, const Contract&) = default;
};

// Rates not negative, most at least guaranteed, reserved_permille 1 to 1000. Kind invalid, code "contracts.invalid".
Result<void> check_contract(const Contract& contract);

}  // namespace railweave::scheduler
