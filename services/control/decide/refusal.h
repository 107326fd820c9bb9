// Refusals of commands, for the files of this folder.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "services/control/events/command.h"

namespace railweave::control {

inline std::unexpected<Rejection> refuse(ErrorKind kind, std::string code, std::string message, std::string hint = {}) {
  return std::unexpected(Rejection{{kind, std::move(code), std::move(message), {}, std::move(hint)}, nullptr});
}

inline std::unexpected<Rejection> refuse_saying(ErrorKind kind, std::string code, Message said, std::string hint) {
  return std::unexpected(Rejection{error_of(kind, std::move(code), std::move(said), {}, std::move(hint)), nullptr});
}

inline std::unexpected<Rejection> job_not_found(JobId id) {
  return refuse(ErrorKind::notFound, "jobs.notFound", "there is no " + to_string(id), "GET /v1/jobs lists the jobs");
}

// The refusal of an If-Match version that is not the present one. what: "the tenant"
inline std::unexpected<Rejection> refuse_version(const std::string& what, std::uint64_t asked, std::uint64_t present) {
  return refuse(ErrorKind::precondition, "precondition.versionDiffers",
                what + " has changed: its version is " + std::to_string(present) + ", not " + std::to_string(asked),
                "read it again, then repeat the change");
}

}  // namespace railweave::control
