#include "services/rest/json/tables_value.h"

#include "fabric/base/text/time_text.h"
#include "services/json/contract_object.h"

namespace railweave::api {

Out tables_json(std::span<const control::TablesUsed> tables) {
  Out list = Out::array();
  for (const auto& one : tables) {
    list.push_back(object<"TablesOfSubnet">(
        with<"subnet">(one.subnet), with<"source">(one.source), with<"live">(one.is_live),
        with<"since">(one.since_us == 0 ? Out(nullptr) : Out(time_text(one.since_us))),
        with<"seenAt">(one.seen_us == 0 ? Out(nullptr) : Out(time_text(one.seen_us))),
        with<"lostPairs">(one.lost_pairs), with<"unreadSwitches">(one.unread), with<"reason">(one.reason)));
  }
  return list;
}

}  // namespace railweave::api
