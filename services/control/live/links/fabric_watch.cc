#include "services/control/live/links/fabric_watch.h"

#include <algorithm>
#include <utility>

namespace railweave::control {
namespace {

using namespace fabric;  // NOLINT: this file is about its types

constexpr std::int64_t kUsPerMs = 1000;

std::string_view text_of(Observation::Kind kind) {
  switch (kind) {
    case Observation::Kind::linkStateChange:
      return "a link's state changed";
    case Observation::Kind::capabilityChange:
      return "capabilities changed";
    case Observation::Kind::lost:
      return "reports may have been lost";
    case Observation::Kind::wrongKey:
      return "a wrong management key";
  }
  return "?";
}

}  // namespace

Result<FabricWatch::Finding> FabricWatch::discover() {
  const std::int64_t start = context_.now();
  auto found = context_.driver().discover(true);
  if (!found) return std::unexpected(found.error());
  SubnetStatus& status = context_.status();
  if (!found->blind || !status.discovered) status.discovered = found->topology;
  status.discovery.took_us = context_.now() - start;
  status.discovery.mads = found->asked;
  swept_at_us_ = context_.now();
  context_.log().debug("discovered in {} us, {} datagrams, {} silent", status.discovery.took_us, found->asked,
                       found->silent.size());
  return Finding{
      .sweep = {.changed = true, .asked = found->asked, .silent = std::move(found->silent), .blind = found->blind},
      .cause = {.text = "first discovery", .start_us = start},
      .is_whole = true};
}

void FabricWatch::add(Reports& reports, const std::vector<Observation>& observations) {
  for (const auto& observation : observations) {
    context_.log().debug("trap: {} of {}", text_of(observation.kind), to_string(observation.device));
    if (observation.kind == Observation::Kind::wrongKey) {
      wrong_keys_.push_back(observation);
      continue;
    }
    reports.is_incomplete = reports.is_incomplete || observation.kind != Observation::Kind::linkStateChange;
    auto& devices = reports.devices;
    if (std::ranges::find(devices, observation.device) == devices.end()) devices.push_back(observation.device);
  }
}

// A cable has two ends, a switch has many cables: what is reported right after the first report is repaired with it.
Result<void> FabricWatch::collect(Reports& reports, std::int64_t start_us) {
  const std::int64_t until = start_us + context_.options.coalesce_most.count() * kUsPerMs;
  while (context_.now() < until) {
    const auto more = context_.driver().observe(context_.options.coalesce);
    if (!more) return std::unexpected(more.error());
    if (more->empty()) break;
    add(reports, *more);
  }
  return {};
}

Result<std::optional<FabricWatch::Finding>> FabricWatch::listen(std::chrono::milliseconds wait) {
  Reports reports{.devices = inbox_.take_noticed()};
  const auto observed = context_.driver().observe(reports.devices.empty() ? wait : std::chrono::milliseconds(0));
  if (!observed) return std::unexpected(observed.error());
  RepairCause cause{.text = "links changed", .start_us = context_.now()};
  add(reports, *observed);
  if (reports.devices.empty() && !reports.is_incomplete) {
    const auto every = is_blind_ ? context_.options.retry_first : context_.options.sweep_every;
    if (!distrusts_ && cause.start_us - swept_at_us_ < every.count() * kUsPerMs) return std::nullopt;
    cause.text = "found by a sweep";
    return sweep(std::move(cause));
  }
  if (auto collected = collect(reports, cause.start_us); !collected) return std::unexpected(collected.error());
  cause.noticed_us = context_.now() - cause.start_us;
  const bool all_are_named = std::ranges::find(reports.devices, Guid()) == reports.devices.end();
  if (!reports.is_incomplete && all_are_named) {
    auto rechecked = context_.driver().recheck(reports.devices, {});
    if (!rechecked) return std::unexpected(rechecked.error());
    if (*rechecked) {
      context_.log().debug("asked the {} devices that reported again, {} datagrams", reports.devices.size(),
                           (*rechecked)->asked);
      return Finding{.sweep = std::move(**rechecked), .cause = std::move(cause)};
    }
  }
  return sweep(std::move(cause));
}

Result<std::optional<FabricWatch::Finding>> FabricWatch::read_neighbours(std::span<const Guid> switches) {
  RepairCause cause{.text = "switches do not answer", .start_us = context_.now()};
  auto read = context_.driver().recheck({}, switches);
  if (!read) return std::unexpected(read.error());
  if (!*read || !(*read)->changed) return std::nullopt;
  context_.log().debug("asked the neighbours of {} switches that do not answer, {} datagrams", switches.size(),
                       (*read)->asked);
  return Finding{.sweep = std::move(**read), .cause = std::move(cause)};
}

Result<std::optional<FabricWatch::Finding>> FabricWatch::sweep(RepairCause cause) {
  auto swept = context_.driver().sweep(std::exchange(distrusts_, false));
  if (!swept) return std::unexpected(swept.error());
  swept_at_us_ = context_.now();
  context_.log().write(swept->changed ? log::Level::debug : log::Level::trace, "swept: {}, {} datagrams, {} silent",
                       swept->changed ? "devices changed" : "as before", swept->asked, swept->silent.size());
  return Finding{.sweep = std::move(*swept), .cause = std::move(cause), .is_whole = true};
}

void FabricWatch::note(const Finding& finding) {
  const Sweep& sweep = finding.sweep;
  is_blind_ = sweep.blind;
  if (sweep.blind) return;  // it says nothing of any device
  if (finding.is_whole) silent_ = std::set<Guid>(sweep.silent.begin(), sweep.silent.end());
  rediscover_ = rediscover_ || sweep.changed;
}

}  // namespace railweave::control
