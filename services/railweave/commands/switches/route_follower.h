// Keeps the switches of an Ethernet subnet on routes that follow the jobs: asks the service to choose next hops for them, reads what
// each switch is to have then, and hands what is other than it was given last to the operator's program. A switch whose program
// fails keeps its routes and is tried again, later each time; nothing is ever taken back.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "fabric/base/backoff.h"
#include "services/railweave/commands/switches/given_routes.h"
#include "services/railweave/connection/session.h"

namespace railweave::cli {

struct FollowOptions {
  std::string subnet, names, apply, state, to = "routes";
  bool once = false, dry_run = false, stop = false;
  std::uint64_t every_s = 2, timeout_s = 60, port_step = 8;
};

class RouteFollower {
 public:
  RouteFollower(Session& session, FollowOptions options);

  // One time; ExitCode::findings where a switch did not take its routes.
  void run_once();
  // Routes follow jobs no more: the switches are given even ones, one time.
  void stop();
  // Until interrupted. What fails at first throws CommandFailure; later it is told and tried again.
  void run();

 private:
  using Clock = std::chrono::steady_clock;
  // What a switch is to have and was not given yet.
  struct Owed {
    std::string wanted, mark;
    Backoff pause{std::chrono::seconds(2), std::chrono::minutes(2)};
    Clock::time_point not_before{};
  };

  // Whether anything happened since that routes could follow from.
  bool has_news();
  void choose_hops();
  void take_tables(const Json& answer);
  void read_tables();
  bool read_table(const std::string& name, const std::string& mark, std::vector<std::string>& notes);
  void apply_owed();
  bool give(const std::string& name, Owed& owed);
  [[nodiscard]] Target job_routes() const;
  void say_hops(const Json& answer);
  [[nodiscard]] std::string wanted_of(const std::string& name, std::vector<std::string>& notes);

  Session& session_;
  const FollowOptions options_;
  const GivenRoutes given_;
  Json names_;                                  // the document of --names
  std::uint64_t seq_ = 0;                       // of what was seen last
  std::uint64_t wanted_version_ = 0;            // of the routes that are in force
  std::uint64_t read_version_ = UINT64_MAX;     // of the tables that were read
  std::map<std::string, std::string> digests_;  // of the tables that switches are to have
  std::map<std::string, Owed> owed_;            // by switch
  std::string said_;                            // why routes stay, as told last
};

}  // namespace railweave::cli
