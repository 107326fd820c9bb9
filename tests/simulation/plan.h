// What a seed makes happen: acts in order, each of which draws what it needs from a number of its own, so that a plan
// without some of its acts is a plan as well.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace railweave::simulation {

struct Act {
  enum class Kind : std::uint8_t {
    submit,
    end_job,
    tenant,
    contract,
    drain_link,
    drain_switch,
    drain_node,
    clear_drain,
    reservation,
    mode,
    checkpoint,
    launch,
    offer_moves,
    queue_policy,
    cut,
    join,
    isolate_switch,
    silence,
    forget_tables,
    lose_datagrams,
    slow_switch,
    break_port,
    store_fault,
    crash,
    restart,
    suspend,
    partition,
    jump_clock,
    calm,
  };
  static constexpr std::array<const char*, 29> kNames{
      "submit",      "end job",     "tenant",         "contract",   "drain link",    "drain switch",   "drain node",
      "clear drain", "reservation", "mode",           "checkpoint", "launch",        "offer moves",    "queue policy",
      "cut",         "join",        "isolate switch", "silence",    "forget tables", "lose datagrams", "slow switch",
      "break port",  "store fault", "crash",          "restart",    "suspend",       "partition",      "jump clock",
      "calm"};
  Kind kind = Kind::submit;
  std::uint64_t salt = 0;
  unsigned steps = 0, wait_ms = 0;  // of the service afterwards
};

struct Plan {
  std::uint64_t seed = 0;
  std::vector<Act> acts;
};

Plan make_plan(std::uint64_t seed);
std::string to_string(const Act& act);

}  // namespace railweave::simulation
