#include "services/rest/json/fabric/counter_history.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "fabric/base/text/time_text.h"
#include "services/json/contract_object.h"
#include "services/rest/json/link_value.h"

namespace railweave::api {
namespace {

using fabric::health::ArchiveRange;
using fabric::health::ArchiveSlot;

// As PortCounters names them; by ErrorCounter.
constexpr std::array<std::string_view, fabric::kErrorCounters - 1> kErrorNames = {
    "symbolErrors", "linkRecoveries", "linkDowned", "receiveErrors", "discards"};

Out shares(const ArchiveRange& range, float ArchiveSlot::* what) {
  constexpr double kDigits = 1e5;
  Out values = Out::array();
  for (const auto& slot : range.slots) {
    values.push_back(slot.is_read ? Out(std::round(static_cast<double>(slot.*what) * kDigits) / kDigits)
                                  : Out(nullptr));
  }
  return values;
}

// Of each kind that was counted at all.
Out errors(const ArchiveRange& range) {
  Out kinds = Out::array();
  for (std::size_t kind = 0; kind < kErrorNames.size(); ++kind) {
    if (std::ranges::none_of(range.slots, [&](const ArchiveSlot& slot) { return slot.errors[kind] > 0; })) continue;
    Out counts = Out::array();
    for (const auto& slot : range.slots) counts.push_back(slot.is_read ? Out(slot.errors[kind]) : Out(nullptr));
    kinds.push_back(
        object<"CounterHistory.ports.errors">(with<"kind">(kErrorNames[kind]), with<"counts">(std::move(counts))));
  }
  return kinds;
}

}  // namespace

std::string write_counter_history(const fabric::Topology& topology, const std::string& detail,
                                  const std::vector<fabric::PortId>& ports, const control::ArchivedPorts& ranges,
                                  const std::vector<std::string>& unread) {
  Out answer = object<"CounterHistory">(with<"detail">(detail), with<"from">(nullptr), with<"slotSeconds">(nullptr),
                                        with<"slots">(0U), with<"ports">(Out::array()));
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const auto port = ports[i];
    const auto& range = ranges[i];
    if (!range || range->slots.empty()) continue;
    answer["from"] = time_text(range->from_us);
    answer["slotSeconds"] = static_cast<double>(range->slot_us) * 1e-6;
    answer["slots"] = range->slots.size();
    answer["ports"].push_back(object<"CounterHistory.ports">(
        with<"port">(topology.port_text(port)), with<"portName">(port_name(topology, port)),
        with<"link">(topology.link_text(topology.link(port))),
        with<"unread">(unread[i].empty() ? Out(nullptr) : Out(unread[i])),
        with<"load">(shares(*range, &ArchiveSlot::load)), with<"peak">(shares(*range, &ArchiveSlot::peak)),
        with<"waiting">(shares(*range, &ArchiveSlot::waiting)), with<"errors">(errors(*range))));
  }
  return dump(answer);
}

}  // namespace railweave::api
