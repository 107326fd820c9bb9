#include "fabric/drivers/opensm/protocol/policy_client.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>
#include <poll.h>

#include "fabric/drivers/opensm/local/kept_file.h"

namespace railweave::fabric::opensm {
namespace {

constexpr int kSecondMs = 1000;
constexpr std::size_t kMaxPolicyBytes = kMaxPolicyLines * 96;

}  // namespace

PolicyClient::PolicyClient(PolicyClientOptions options, PolicyClientHooks hooks)
    : options_(std::move(options)),
      hooks_(std::move(hooks)),
      policy_(std::make_shared<const RoutingPolicy>()),
      retry_(options_.first_retry, options_.longest_retry),
      file_(options_.cache_path, [this](const Error& error) {
        if (hooks_.problem) hooks_.problem(error);
      }) {
  if (options_.cache_path.empty()) return;
  const auto text = read_kept_file(options_.cache_path, kMaxPolicyBytes);
  if (!text) tell(text.error());
  if (!text || text->empty()) return;
  auto policy = read_policy(*text);
  if (policy) {
    policy_ = std::make_shared<const RoutingPolicy>(std::move(*policy));
  } else {
    Error error = std::move(policy.error());
    error.location = options_.cache_path + (error.location.empty() ? "" : ", " + error.location);
    tell(error);
  }
}

PolicyClient::~PolicyClient() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_up_.wake();
  if (thread_.joinable()) thread_.join();
}

void PolicyClient::start(Guid subnet) {
  const std::lock_guard lock(mutex_);
  if (subnet_.known() || !subnet.known() || stop_) return;
  subnet_ = subnet;
  thread_ = std::thread([this] { run(); });
}

RoutingPolicyPtr PolicyClient::policy() const {
  const std::lock_guard lock(mutex_);
  return policy_;
}

void PolicyClient::report(const PolicyEvent& event) {
  std::string line = write_event(event);
  {
    const std::lock_guard lock(mutex_);
    if (lost_ > 0 || queued_.size() + line.size() > options_.max_queued_bytes) {
      ++lost_;  // until the queue is empty: events that arrive have no gap but the one that is reported
    } else {
      queued_ += line;
    }
  }
  wake_up_.wake();
}

bool PolicyClient::stopping() const {
  const std::lock_guard lock(mutex_);
  return stop_;
}

void PolicyClient::tell(const Error& error) {
  std::string text = error.text();
  if (text == last_problem_) return;
  last_problem_ = std::move(text);
  if (hooks_.problem) hooks_.problem(error);
}

void PolicyClient::run() {
  while (!stopping()) {
    const FileDescriptor socket = connected();
    if (socket.open()) {
      last_problem_.clear();
      if (hooks_.changed) hooks_.changed(true);
      talk(socket);
      if (hooks_.changed) hooks_.changed(false);
      if (good_) retry_.reset();
    }
    pause();
  }
}

FileDescriptor PolicyClient::connected() {
  auto socket = connect_to(options_.socket_path);
  if (socket) return std::move(*socket);
  tell(socket.error());
  return {};
}

void PolicyClient::pause() {
  const auto until = Clock::now() + retry_.next();
  while (!stopping()) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    if (left <= 0) return;
    pollfd awake{wake_up_.fd(), POLLIN, 0};
    if (poll(&awake, 1, static_cast<int>(left)) > 0) wake_up_.clear();
  }
}

// More to send, where the last of it has left.
bool PolicyClient::refill() {
  if (sent_ < outgoing_.size()) return true;
  const std::lock_guard lock(mutex_);
  outgoing_.clear();
  sent_ = 0;
  std::swap(outgoing_, queued_);
  if (lost_ > 0) {
    PolicyEvent event;
    event.kind = PolicyEvent::Kind::lost;
    event.number = std::exchange(lost_, 0);
    outgoing_ += write_event(event);
  }
  stuck_since_ = Clock::now();
  return !outgoing_.empty();
}

void PolicyClient::talk(const FileDescriptor& socket) {
  // An interrupted transmission continues after the greeting with its next whole line.
  std::size_t from = std::min(sent_, outgoing_.size());
  if (from > 0 && outgoing_[from - 1] != '\n') from = std::min(outgoing_.find('\n', from), outgoing_.size() - 1) + 1;
  outgoing_.erase(0, from);
  outgoing_.insert(0, write_hello(subnet_));
  sent_ = 0;
  reader_ = {};
  good_ = false;
  stuck_since_ = begun_at_ = Clock::now();
  while (!stopping()) {
    const bool more = refill();
    pollfd fds[] = {{socket.get(), static_cast<short>(more ? POLLIN | POLLOUT : POLLIN), 0},
                    {wake_up_.fd(), POLLIN, 0}};
    const bool waits = more || !reader_.idle();
    const int wait_ms = waits ? static_cast<int>(options_.deadline.count()) : -1;
    const int ready = poll(fds, 2, hooks_.every_second ? (waits ? std::min(wait_ms, kSecondMs) : kSecondMs) : wait_ms);
    if (hooks_.every_second) hooks_.every_second();
    if (ready > 0 && (fds[1].revents & POLLIN) != 0) wake_up_.clear();
    if ((fds[0].revents & POLLOUT) != 0) {
      std::string_view rest = std::string_view(outgoing_).substr(sent_);
      const Transfer done = send(socket.get(), rest);
      if (done == Transfer::over) return;
      if (done == Transfer::some) stuck_since_ = Clock::now();
      sent_ = outgoing_.size() - rest.size();
    }
    if ((fds[0].revents & ~POLLOUT) != 0 && !read_from(socket)) return;
    const auto now = Clock::now();
    const bool stuck = sent_ < outgoing_.size() && now - stuck_since_ > options_.deadline;
    if (stuck || (!reader_.idle() && now - begun_at_ > options_.deadline)) {
      return tell({ErrorKind::unavailable, "policy.deadline",
                   stuck ? "the service does not read events in time" : "the service did not finish its document",
                   options_.socket_path, "connecting again"});
    }
  }
}

bool PolicyClient::read_from(const FileDescriptor& socket) {
  std::string bytes;
  const Transfer got = receive(socket.get(), bytes);
  if (got == Transfer::over) return false;
  if (reader_.idle()) begun_at_ = Clock::now();
  std::vector<Result<RoutingPolicy>> done;
  const bool readable = reader_.feed(bytes, done);
  if (!done.empty()) begun_at_ = Clock::now();
  for (auto& document : done) {
    if (document) {
      good_ = true;
      take(std::move(*document));
      continue;
    }
    refuse(document.error());
  }
  if (!readable) {
    tell({ErrorKind::tooLarge, "policy.tooLarge", "a document without an 'end' line", options_.socket_path, {}});
  }
  return readable;
}

void PolicyClient::refuse(const Error& error) {
  PolicyEvent event;
  event.kind = PolicyEvent::Kind::refused;
  event.text = "policy: " + error.text();
  report(event);
  last_problem_.clear();  // said of every document
  tell(error);
}

void PolicyClient::take(RoutingPolicy policy) {
  const RoutingPolicyPtr before = this->policy();
  if (policy.term < before->term) {
    return refuse({ErrorKind::conflict,
                   "policy.oldTerm",
                   fmt::format("of term {}, after one of term {}: its sender leads no more", policy.term, before->term),
                   {},
                   {}});
  }
  if (std::exchange(policy.keeps_ports, false)) policy.ports = before->ports;
  const bool is_repeated = policy.repeat != 0 && policy.repeat != before->repeat;
  const bool is_rewritten = policy.rewrite != 0 && policy.rewrite != before->rewrite;
  const Difference differs = !policy.same_routes(*before) || is_rewritten   ? Difference::routes
                             : !policy.same_content(*before) || is_repeated ? Difference::ports
                                                                            : Difference::none;
  const bool is_new = differs != Difference::none || policy.revision != before->revision || policy.term != before->term;
  const auto taken = std::make_shared<const RoutingPolicy>(std::move(policy));
  {
    const std::lock_guard lock(mutex_);
    policy_ = taken;
  }
  if (hooks_.received) hooks_.received(taken, differs);
  if (is_new && !options_.cache_path.empty()) file_.keep(write_policy(*taken));
}

}  // namespace railweave::fabric::opensm
