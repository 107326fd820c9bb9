#include "services/railweave/lab/failures.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <random>

#include <fmt/core.h>

#include "fabric/base/decimal_number.h"
#include "fabric/base/whole_number.h"
#include "services/railweave/command_line/number_option.h"
#include "services/railweave/terminal/command_failure.h"

namespace railweave::cli {
namespace {

using fabric::LinkId;
using fabric::Topology;

[[noreturn]] void fail_amount(const std::string& text) {
  fail_usage("--fail-random '" + text + "' is neither a number of links nor a percentage",
             "give a whole number, such as 12, or a percentage from 0 to 100, such as 1% or 0.5%");
}

void add_named(const Topology& topology, const std::string& text, std::vector<LinkId>& links) {
  if (const LinkId link = topology.find_link(text)) return links.push_back(link);
  if (const fabric::PortId port = topology.find_port(text)) {
    if (const LinkId link = topology.link(port)) return links.push_back(link);
    throw CommandFailure(Error{ErrorKind::notFound, "lab.noCable", "port '" + text + "' has no cable", {}, {}});
  }
  if (const fabric::SwitchId sw = topology.find_switch(text)) {
    for (const fabric::PortId port : topology.ports(sw)) {
      if (const LinkId link = topology.link(port)) links.push_back(link);
    }
    return;
  }
  throw CommandFailure(Error{ErrorKind::notFound,
                             "lab.noSuchLink",
                             "the fabric has no link '" + text + "'",
                             {},
                             "name a link as GUID/PORT--GUID/PORT, one of its ports as GUID/PORT or SWITCH/PORT, or a "
                             "switch"});
}

std::optional<std::size_t> amount(const std::string& text, std::size_t all) {
  if (!text.ends_with('%')) return whole_number<std::size_t>(text);
  const auto percent = decimal_number(std::string_view(text).substr(0, text.size() - 1), std::chars_format::fixed);
  if (!percent || *percent < 0 || *percent > 100) return std::nullopt;
  const auto links = static_cast<std::size_t>(std::llround(*percent / 100 * static_cast<double>(all)));
  return *percent > 0 ? std::max<std::size_t>(links, std::min<std::size_t>(all, 1)) : 0;
}

// Fisher and Yates, with remainders: the results of std::shuffle and of distributions differ between libraries.
void add_random(const Topology& topology, const FailureOptions& options, std::vector<LinkId>& links) {
  std::vector<LinkId> all;
  for (const LinkId link : topology.links()) {
    if (topology.joins_switches(link)) all.push_back(link);
  }
  const auto count = amount(options.random, all.size());
  if (!count) fail_amount(options.random);
  if (*count > all.size()) {
    throw CommandFailure(Error{ErrorKind::invalid,
                               "lab.tooManyFailures",
                               "--fail-random " + options.random + " exceeds the links of the fabric",
                               {},
                               fmt::format("{} links join switches", all.size())});
  }
  std::mt19937_64 random(options.seed);
  for (std::size_t i = 0; i < *count; ++i) {
    std::swap(all[i], all[i + random() % (all.size() - i)]);
    links.push_back(all[i]);
  }
}

}  // namespace

void add_failure_options(CLI::App& command, FailureOptions& options) {
  command
      .add_option("--fail", options.links,
                  "Fail this link: GUID/PORT--GUID/PORT, one of its ports, or a switch for all its links; repeatable")
      ->type_name("LINK")
      ->expected(1)
      ->take_all()
      ->group("Failures");
  command.add_option("--fail-random", options.random, "Fail N random links between switches, or P percent of them")
      ->type_name("N or P%")
      ->group("Failures");
  add_number_option(command, "--seed", options.seed, "Seed of random choices")->group("Failures");
}

std::vector<LinkId> choose_failures(const Topology& topology, const FailureOptions& options) {
  std::vector<LinkId> links;
  for (const std::string& text : options.links) add_named(topology, text, links);
  if (!options.random.empty()) add_random(topology, options, links);
  std::ranges::sort(links);
  links.erase(std::ranges::unique(links).begin(), links.end());
  return links;
}

}  // namespace railweave::cli
