#include "fabric/drivers/opensm/protocol/policy_reader.h"

#include <string>
#include <utility>

#include <fmt/core.h>

#include "fabric/formats/text/name_text.h"

namespace railweave::fabric::opensm {
namespace {

constexpr std::string_view kLines =
    "expected 'term NUMBER', 'drain-link GUID/PORT--GUID/PORT', 'drain-switch GUID', 'weight GUID NUMBER', "
    "'keep-ports',"
    " 'repeat NUMBER', 'rewrite NUMBER', 'lanes GUID/PORT MAP WEIGHTS', 'enter GUID/PORT LEVELS', 'cross GUID/PORT "
    "PORT MAP' or 'end "
    "REVISION DIGEST'";

std::optional<PortName> port_name(std::string_view text) {
  const auto slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto guid = parse_guid(text.substr(0, slash));
  const auto port = whole_number<unsigned>(text.substr(slash + 1));
  if (!guid || !port) return std::nullopt;
  return PortName{*guid, *port};
}

std::optional<LinkName> link_name(std::string_view text) {
  const auto middle = text.find("--");
  if (middle == std::string_view::npos) return std::nullopt;
  const auto a = port_name(text.substr(0, middle));
  const auto b = port_name(text.substr(middle + 2));
  if (!a || !b) return std::nullopt;
  return LinkName{*a, *b};
}

bool add_line(std::string_view line, RoutingPolicy& policy) {
  if (add_port_line(line, policy.ports)) return true;
  if (line == "keep-ports") return !std::exchange(policy.keeps_ports, true);
  const auto split = words_of<3>(line);
  if (!split) return false;
  const auto& [words, count] = *split;
  if (words[0] == "term" && count == 2 && policy.term == 0) {
    policy.term = whole_number<std::uint64_t>(words[1]).value_or(0);
    return policy.term != 0;
  }
  if (words[0] == "repeat" && count == 2 && policy.repeat == 0) {
    policy.repeat = whole_number<std::uint64_t>(words[1]).value_or(0);
    return policy.repeat != 0;
  }
  if (words[0] == "rewrite" && count == 2 && policy.rewrite == 0) {
    policy.rewrite = whole_number<std::uint64_t>(words[1]).value_or(0);
    return policy.rewrite != 0;
  }
  if (words[0] == "drain-link" && count == 2) {
    const auto link = link_name(words[1]);
    if (link) policy.drained_links.push_back(*link);
    return link.has_value();
  }
  if (words[0] == "drain-switch" && count == 2) {
    const auto guid = parse_guid(words[1]);
    if (guid) policy.drained_switches.push_back(*guid);
    return guid.has_value();
  }
  if (words[0] == "weight" && count == 3) {
    const auto guid = parse_guid(words[1]);
    const auto weight = whole_number<std::uint32_t>(words[2]);
    if (guid && weight) policy.weights.push_back({*guid, *weight});
    return guid && weight;
  }
  return false;
}

bool is_end(std::string_view line) { return line == "end" || line.starts_with("end "); }

}  // namespace

bool PolicyReader::feed(std::string_view bytes, std::vector<Result<RoutingPolicy>>& done) {
  bool within_limits = true;
  splitter_.feed(bytes, [&](std::string_view line, bool whole) {
    if (!within_limits) return;
    take(line, whole, done);
    // Room for a refused document that goes on for a while; not for one without an end.
    within_limits = line_ <= 2 * kMaxPolicyLines;
  });
  return within_limits;
}

void PolicyReader::refuse(std::string what, std::string_view line) {
  if (refusal_) return;  // the first reason counts
  std::string quoted = escaped_name(line.substr(0, 60));
  if (line.size() > 60) quoted += "...";
  refusal_ = Error{ErrorKind::malformed,
                   "policy.malformed",
                   std::move(what) + ", not '" + quoted + "'",
                   fmt::format("line {}", line_),
                   {}};
}

void PolicyReader::take(std::string_view line, bool whole, std::vector<Result<RoutingPolicy>>& done) {
  ++line_;
  if (whole && is_end(line)) return finish(line, done);
  if (!whole) return refuse(fmt::format("expected a line of at most {} bytes", kMaxProtocolLine), line);
  if (refusal_) return;
  if (line_ > kMaxPolicyLines) return refuse(fmt::format("expected at most {} lines", kMaxPolicyLines), line);
  digest_.add(line).add("\n");
  if (!add_line(line, policy_)) refuse(std::string(kLines), line);
}

void PolicyReader::finish(std::string_view line, std::vector<Result<RoutingPolicy>>& done) {
  if (!refusal_) {
    const auto split = words_of<3>(line);
    const auto revision = split && split->second == 3 ? whole_number<std::uint64_t>(split->first[1]) : std::nullopt;
    const auto digest = revision ? hex_16(split->first[2]) : std::nullopt;
    if (!digest) {
      refuse("expected 'end REVISION DIGEST', the digest in 16 hexadecimal digits", line);
    } else if (*digest != digest_.value()) {
      refuse("expected the digest " + hex64(digest_.value()) + " of the lines before", line);
    } else {
      policy_.revision = *revision;
    }
  }
  if (refusal_) {
    done.emplace_back(std::unexpected(std::move(*refusal_)));
  } else {
    done.push_back(canonical(std::move(policy_)));
  }
  policy_ = {};
  digest_ = {};
  line_ = 0;
  refusal_.reset();
}

Result<RoutingPolicy> read_policy(std::string_view text) {
  PolicyReader reader;
  std::vector<Result<RoutingPolicy>> done;
  const bool readable = reader.feed(text, done);
  if (!readable || done.size() != 1 || !reader.idle()) {
    if (!done.empty() && !done.front()) return done.front();
    return fail(ErrorKind::malformed, "policy.malformed", "expected one document that ends with an 'end' line");
  }
  return std::move(done.front());
}

}  // namespace railweave::fabric::opensm
