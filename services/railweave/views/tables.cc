#include "services/railweave/views/tables.h"

#include <algorithm>

#include <fmt/core.h>

namespace railweave::cli {
namespace {

bool are_known(const Json& one) {
  return flag_of(one, "live") && text_of(one, "source") != "unknown" && count_of(one, "unreadSwitches") == 0;
}

}  // namespace

std::string tables_text(const Json& one) {
  const std::string reason = text_of(one, "reason");
  const std::string seen = field(one, "seenAt").is_string() ? ", all seen since " + time_of(one, "seenAt") : "";
  if (!flag_of(one, "live")) return "as Railweave would compute them: " + reason;
  std::string text;
  if (text_of(one, "source") == "unknown") return "not known: " + reason;
  if (text_of(one, "source") == "wanted") {
    text = "as Railweave computes them, read back" + seen;
  } else {
    text = "as switches hold them" + seen;
  }
  if (reason != "-") text += "; " + reason;
  if (const auto lost = count_of(one, "lostPairs"); lost != 0) {
    text += fmt::format("; {} pairs of end ports that cables join do not reach each other", lost);
  }
  return text;
}

std::string routes_text(const Json& tables) {
  if (tables.empty()) return "on routes";
  if (std::ranges::any_of(tables, [](const Json& one) { return flag_of(one, "live") && !are_known(one); })) {
    return "on routes that are not known to be in force";
  }
  if (std::ranges::any_of(tables, [](const Json& one) { return text_of(one, "source") == "seen"; })) {
    return "on the routes that switches hold";
  }
  if (std::ranges::all_of(tables, [](const Json& one) { return flag_of(one, "live"); })) {
    return "on the routes in force";
  }
  return "on the routes that Railweave would compute";
}

void add_tables(Sheet& sheet, const Json& tables) {
  for (const Json& one : tables) {
    const std::string name = tables.size() == 1 ? "" : " of " + text_of(one, "subnet");
    const bool is_plain = are_known(one) && text_of(one, "source") == "wanted";
    sheet.add("Tables" + name, {tables_text(one), is_plain ? Tone::plain : Tone::warning});
  }
}

}  // namespace railweave::cli
