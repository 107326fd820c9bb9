// Lanes that jobs have of their own on links: each has one owner on a link, carries no more there than is reserved for it,
// and its port promises it that. Used by check.cc. Throws std::exception if the certificate is not well formed.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "services/verify/network.h"
#include "services/verify/verdict.h"

namespace railweave::verify {

class Lanes {
 public:
  // Borrows the verdict. classes: their names, in the order of the certificate.
  Lanes(const nlohmann::json& certificate, const std::vector<std::string>& classes, Verdict& verdict);

  // What the link's entry reserves for the owner of a lane.
  struct Owner {
    std::string job;
    std::size_t of_class = 0;
    std::int64_t reserved_mbps = 0;
  };
  // By lane. None on links without.
  [[nodiscard]] const std::map<std::int64_t, Owner>& owners(const DirectedLink& link) const;
  // The part of what is reserved in a class that owners of lanes have.
  [[nodiscard]] std::int64_t reserved_in(const DirectedLink& link, std::size_t of_class) const;

  // The load of a job on one set of routes; jobs without a lane have no effect.
  void begin_routes() { users_.clear(); }
  void use(const std::string& job, const DirectedLink& link, std::int64_t mbps, const std::string& when);

 private:
  std::map<std::string, std::int64_t> lane_of_;  // by job
  std::map<DirectedLink, std::map<std::int64_t, Owner>> owners_;
  std::map<DirectedLink, std::map<std::int64_t, std::string>> users_;  // on the routes at hand
  Verdict& verdict_;
};

}  // namespace railweave::verify
