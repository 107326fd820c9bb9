// A random fabric, healthy or with failures, on which jobs were admitted until links are full; and traffic for it.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "scheduler/admission/bandwidth_admission.h"
#include "tests/unit/capacity/routed_fabrics.h"

namespace railweave::scheduler::testing {

struct Site {
  fabric::testing::Routed fabric;
  fabric::QosClasses classes = fabric::default_qos_classes();
  fabric::Ledger ledger;
  std::size_t rejected = 0;

  // limits: of the ports' arbitration.
  explicit Site(std::uint64_t seed, fabric::ArbitrationLimits limits = {})
      : Site(fabric::testing::random_fabric(
                 seed, seed % 3 == 0 ? fabric::testing::Health::even : fabric::testing::Health::failures),
             seed, limits) {}

  Site(fabric::testing::Routed on, std::uint64_t seed, fabric::ArbitrationLimits limits = {}) : fabric(std::move(on)) {
    std::mt19937_64 random(seed * 31);
    ledger = fabric::Ledger(fabric::whole_capacities_mbps(fabric.view), fabric::capacity_rules(classes));
    fabric::HoseLoads loads(fabric.view, fabric.routing.tables);
    BandwidthAdmission admission(classes, ledger, loads, {}, limits);
    for (int job = 0; job < 40; ++job) {
      Contract contract{.tenant = "tenant-" + std::to_string(job % 5)};
      contract.guaranteed = RateMbps(static_cast<std::int64_t>(2'000 + random() % 60'000));
      const std::string names[] = {"latency", "all-reduce", "all-to-all", "storage"};
      contract.classes = {names[random() % 4]};
      BandwidthRequest request{.job = "job-" + std::to_string(job)};
      request.order = static_cast<std::uint64_t>(job);
      std::vector<fabric::PortId> ends = fabric.ends;
      std::ranges::shuffle(ends, random);
      ends.resize(std::min<std::size_t>(ends.size(), 2 + random() % 10));
      request.ports = ends;
      const AdmissionResult result = admission.admit(contract, request);
      if (const auto* admitted = std::get_if<Admitted>(&result)) {
        ledger.reserve(admitted->reservation);
      } else {
        ++rejected;
      }
    }
  }
};

// Flows: sender and receiver, class and rate limit (Mb/s).
struct Traffic {
  std::vector<fabric::EndPortPair> pairs;
  std::vector<std::uint8_t> class_of;
  std::vector<double> cap;

  void clear() {
    pairs.clear();
    class_of.clear();
    cap.clear();
  }
  void add(fabric::EndPortPair pair, std::uint8_t qos_class, double most) {
    pairs.push_back(pair);
    class_of.push_back(qos_class);
    cap.push_back(most);
  }
};

// A random matching of each job's ports: the extreme points of hoses with equal rates.
inline void add_matchings(const Site& site, const std::vector<fabric::ReservationPtr>& jobs, std::mt19937_64& random,
                          Traffic& traffic) {
  const fabric::RoutingScope& scope = *site.fabric.scope;
  std::vector<fabric::PortId> to;
  for (const fabric::ReservationPtr& job : jobs) {
    to.clear();
    for (const fabric::HosePort& port : job->ports) to.push_back(port.port);
    std::ranges::shuffle(to, random);
    for (std::size_t i = 0; i < to.size(); ++i) {
      const fabric::HosePort& from = job->ports[i];
      if (to[i] == from.port) continue;
      if (scope.plane_of(scope.find(to[i])) != scope.plane_of(scope.find(from.port))) continue;
      traffic.add({from.port, to[i]}, job->qos_class, static_cast<double>(from.send_mbps));
    }
  }
}

// Under a sanitizer these tests are 10 to 20 times slower, so there they try a tenth of the matrices on as many fabrics: every check
// is the same, and each matrix counts as much as elsewhere.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr std::size_t kMatrixDivisor = 10;
#else
inline constexpr std::size_t kMatrixDivisor = 1;
#endif

// The number of matrices to try; RAILWEAVE_MATRICES sets it for a long run.
inline std::size_t matrices(std::size_t usual) {
  const char* requested = std::getenv("RAILWEAVE_MATRICES");
  return requested != nullptr ? static_cast<std::size_t>(std::atoll(requested)) : usual / kMatrixDivisor;
}

}  // namespace railweave::scheduler::testing
