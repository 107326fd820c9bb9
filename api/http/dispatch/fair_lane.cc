#include "api/http/dispatch/fair_lane.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

namespace railweave::api {
namespace {

using std::chrono::milliseconds;

// A light client has used no more than this, beside a twentieth of one thread's time.
constexpr FairLane::Duration kLight = milliseconds(50);
constexpr int kShareOfTime = 20;
constexpr FairLane::Duration kMaxRemembered = milliseconds(500);  // forgotten after ten seconds
constexpr std::size_t kSweep = 256;                               // clients remembered before any are looked through

// Less is sooner.
template <class Client>
auto rank(const Client& client) {
  return std::tuple(client.waiting.empty(), client.running, client.used, client.turn);
}

}  // namespace

void FairLane::push(const std::string& client, Task task) {
  Client& own = clients_[client];
  if (own.waiting.empty() && own.running == 0) own.used = std::max(own.used, now_);
  own.waiting.push_back(std::move(task));
  ++waiting_;
}

std::size_t FairLane::waiting_of(const std::string& client) const {
  const auto at = clients_.find(client);
  return at == clients_.end() ? 0 : at->second.waiting.size();
}

FairLane::Duration FairLane::recent(const std::string& client, TimePoint now) const {
  const auto at = recent_.find(client);
  if (at == recent_.end()) return Duration{0};
  return std::max(Duration{0},
                  at->second.used - std::chrono::duration_cast<Duration>(now - at->second.at) / kShareOfTime);
}

bool FairLane::is_light(const Clients::value_type& entry, TimePoint now) const {
  return !entry.second.waiting.empty() && entry.second.running == 0 && recent(entry.first, now) <= kLight;
}

bool FairLane::has_light(TimePoint now) const {
  return !empty() && std::ranges::any_of(clients_, [&](const auto& entry) { return is_light(entry, now); });
}

FairLane::Taken FairLane::take() {
  return serve(std::ranges::min_element(clients_, {}, [](const auto& entry) { return rank(entry.second); }));
}

FairLane::Taken FairLane::take_light(TimePoint now) {
  return serve(std::ranges::min_element(
      clients_, {}, [&](const auto& entry) { return std::pair(!is_light(entry, now), rank(entry.second)); }));
}

FairLane::Taken FairLane::serve(Clients::iterator next) {
  Client& client = next->second;
  Taken taken{std::move(client.waiting.front()), next->first};
  client.waiting.pop_front();
  client.turn = ++turns_;
  ++client.running;
  now_ = std::max(now_, client.used);
  --waiting_;
  ++running_;
  return taken;
}

void FairLane::note(const std::string& client, Duration used, TimePoint now) {
  recent_.insert_or_assign(client, Recent{std::min(kMaxRemembered, recent(client, now) + used), now});
  if (recent_.size() < std::max(kSweep, sweep_at_)) return;
  std::erase_if(recent_, [&](const auto& entry) { return recent(entry.first, now) == Duration{0}; });
  sweep_at_ = 2 * recent_.size();
}

FairLane::Spent FairLane::Taken::run() {
  const auto began = std::chrono::steady_clock::now();
  task();
  task = nullptr;
  const auto ended = std::chrono::steady_clock::now();
  return {ended - began, ended};
}

void FairLane::ran(const std::string& client, const Spent& spent) {
  Client& own = clients_.find(client)->second;
  own.used += spent.used;
  --own.running;
  --running_;
  note(client, spent.used, spent.at);
  // With no work there is nothing to share: what was used before counts no more.
  const bool idle = waiting_ == 0 && running_ == 0;
  std::erase_if(clients_, [&](const auto& entry) {
    const Client& other = entry.second;
    return other.waiting.empty() && other.running == 0 && (idle || other.used <= now_);
  });
}

std::vector<FairLane::Task> FairLane::drop_all() {
  std::vector<Task> dropped;
  for (auto& [name, client] : clients_) {
    std::ranges::move(client.waiting, std::back_inserter(dropped));
    client.waiting.clear();
  }
  waiting_ = 0;
  return dropped;
}

}  // namespace railweave::api
