#include "services/control/live/connection/subnet_inbox.h"

#include <utility>

namespace railweave::control {
namespace {

constexpr std::size_t kMaxAsked = 64;
constexpr std::size_t kMaxNoticed = 4096;

}  // namespace

bool SubnetInbox::ask(LiveFabric::Request request, LiveFabric::Completion& done) {
  const std::lock_guard lock(mutex_);
  if (asked_.size() >= kMaxAsked) return false;
  asked_.push_back({request, std::move(done)});
  return true;
}

std::deque<SubnetInbox::Asked> SubnetInbox::take_asked() {
  const std::lock_guard lock(mutex_);
  return std::exchange(asked_, {});
}

void SubnetInbox::release(const std::string& link) {
  const std::lock_guard lock(mutex_);
  released_.insert(link);
}

std::set<std::string> SubnetInbox::take_released() {
  const std::lock_guard lock(mutex_);
  return std::exchange(released_, {});
}

void SubnetInbox::notice(const std::vector<Guid>& switches) {
  const std::lock_guard lock(mutex_);
  noticed_.insert(noticed_.end(), switches.begin(), switches.end());
  if (noticed_.size() > kMaxNoticed) noticed_ = {Guid()};
}

std::vector<Guid> SubnetInbox::take_noticed() {
  const std::lock_guard lock(mutex_);
  return std::exchange(noticed_, {});
}

void SubnetInbox::opensm_connected(Guid instance, bool connected) {
  const std::lock_guard lock(mutex_);
  connected ? (void)connected_.insert(instance) : (void)connected_.erase(instance);
  opensm_.is_connected = !connected_.empty();
  opensm_.may_differ = true;
  if (!connected) opensm_.is_writing = false;
}

void SubnetInbox::opensm_wrote() {
  const std::lock_guard lock(mutex_);
  opensm_.has_written = true;
}

void SubnetInbox::opensm_takes_ports(Guid instance, const std::string& why_not) {
  const std::lock_guard lock(mutex_);
  why_not.empty() ? (void)takers_.insert(instance) : (void)takers_.erase(instance);
  opensm_.takes_ports = !takers_.empty();
  opensm_.no_ports = takers_.empty() ? why_not : std::string();
}

void SubnetInbox::opensm_writes() {
  const std::lock_guard lock(mutex_);
  opensm_.is_writing = true;
}

bool SubnetInbox::opensm_is_writing() const {
  const std::lock_guard lock(mutex_);
  return opensm_.is_writing;
}

void SubnetInbox::opensm_settled() {
  const std::lock_guard lock(mutex_);
  opensm_.is_writing = false;
  opensm_.has_settled = opensm_.has_written = opensm_.may_differ = true;
  opensm_.refusal.clear();
}

void SubnetInbox::opensm_refused(const std::string& why) {
  const std::lock_guard lock(mutex_);
  opensm_.refusal = why;
  opensm_.is_writing = false;
}

SubnetInbox::OpensmNews SubnetInbox::take_opensm_news() {
  const std::lock_guard lock(mutex_);
  OpensmNews news = opensm_;
  opensm_.has_settled = opensm_.has_written = opensm_.may_differ = false;
  return news;
}

}  // namespace railweave::control
