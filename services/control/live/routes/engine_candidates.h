// Other engines than the one that routes a subnet, tried on it as it is, on a thread of its own: what comes of it is shown, and where
// that is asked for the better one is proposed, so that it is durable before a switch is written.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <optional>
#include <vector>

#include "fabric/base/worker/computation.h"
#include "services/control/live/routes/balanced_routes.h"
#include "services/control/live/status/engine_comparison.h"

namespace railweave::control {

// How a better engine may be taken.
struct TakeTerms {
  bool several_lanes = false;
  FabricRoutesPtr single{};  // the routes while senders are told of several lanes; null: such as go up and then down
};

struct ComparedView {
  EngineComparison comparison;
  std::uint64_t view_version = 0;  // of the state that it is of
  // The best of those that may be taken, its routes, and how many entries cannot change to them while packets are on their way
  // without dropping some; null: none.
  FabricRoutesPtr taking{};
  std::uint64_t fullest = 0;
  std::size_t unproven = 0;
};

// Every engine of the registry, and those that use several lanes on fewer as well. No candidate is begun once `most` is over or
// is_stopped is set, which is said of those. terms: none: nothing is to be taken.
ComparedView compare_engines(const BalanceInput& in, std::chrono::milliseconds most,
                             const std::atomic<bool>& is_stopped, const std::optional<TakeTerms>& terms = std::nullopt);

// One comparison at a time. Used by one thread; the destructor waits for the candidate that is being computed.
class EngineThread {
 public:
  static constexpr std::chrono::milliseconds kMost{60'000};
  // deferred: computed in take().
  explicit EngineThread(std::launch policy) : running_(policy) {}
  ~EngineThread() { is_stopped_ = true; }
  EngineThread(const EngineThread&) = delete;
  EngineThread& operator=(const EngineThread&) = delete;

  [[nodiscard]] bool is_running() const { return running_.is_running(); }
  void start(BalanceInput in, std::optional<TakeTerms> terms);
  // The version of the state's view that was compared last, or is being compared; UINT64_MAX: none.
  [[nodiscard]] std::uint64_t asked_version() const { return asked_version_; }
  void forget() { asked_version_ = UINT64_MAX; }
  // None: not finished, or none was started.
  std::optional<ComparedView> take() { return running_.take(); }

 private:
  std::uint64_t asked_version_ = UINT64_MAX;
  std::atomic<bool> is_stopped_ = false;
  Computation<ComparedView> running_;  // waited for before is_stopped_ goes
};

// What is computed while a subnet is quiet.
struct QuietThreads {
  BalanceThread balance;
  EngineThread engines;
};

}  // namespace railweave::control
