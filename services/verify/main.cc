// railweave-verify FABRIC TABLES CERTIFICATE [--journal F] [--public-key F] [--after LINK=FDBS]...
// checks a certificate of guarantees by brute force, against what was promised outside it and what switches hold. What it
// checks, and its exit codes: certificate.md.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <optional>
#include <set>
#include <stdexcept>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "services/verify/check.h"
#include "services/verify/devices.h"
#include "services/verify/form.h"
#include "services/verify/journal.h"
#include "services/verify/leaks.h"
#include "services/verify/marks.h"
#include "services/verify/network.h"
#include "services/verify/promises.h"
#include "services/verify/signature.h"
#include "services/verify/tables.h"

namespace {

using namespace railweave::verify;  // NOLINT
using Json = nlohmann::json;

void take_down(Network& network, const std::string& link) {
  const auto cut = link.find("--");
  if (cut == std::string::npos)
    throw std::runtime_error("'" + link + "' is not a link: write it <guid>/<port>--<guid>/<port>");
  network.dead.insert(link.substr(0, cut));
  network.dead.insert(link.substr(cut + 2));
}

constexpr const char* kUsage =
    "usage: railweave-verify FABRIC TABLES CERTIFICATE [--journal F | --contracts F --classes F --jobs F --links-down "
    "F --subnets F] "
    "[--tables F]... [--public-key F] [--after LINK=FDBS]... [--after-list F] [--list-failures]";

struct Arguments {
  std::vector<std::string> files;
  std::string contracts, classes, jobs, links_down, subnets, journal, public_key;  // files; "": not given
  std::vector<std::string> tables;                                                 // of further subnets
  std::vector<std::pair<std::string, std::string>> failures;                       // link and file
  bool list_failures = false;
};

void add_failure(Arguments& arguments, const std::string& pair) {
  const auto cut = pair.find('=');
  if (cut == std::string::npos) throw std::runtime_error("'" + pair + "': a failure is given as LINK=FDBS");
  arguments.failures.emplace_back(pair.substr(0, cut), pair.substr(cut + 1));
}

Arguments read_arguments(const std::vector<std::string>& words) {
  Arguments arguments;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!words[i].starts_with("--")) {
      arguments.files.push_back(words[i]);
      continue;
    }
    if (words[i] == "--list-failures") {
      arguments.list_failures = true;
      continue;
    }
    if (i + 1 == words.size()) throw std::runtime_error(kUsage);
    const std::string& option = words[i];
    const std::string& value = words[++i];
    if (option == "--after") {
      add_failure(arguments, value);
    } else if (option == "--after-list") {
      std::ifstream lines(value);
      if (!lines) throw std::runtime_error(value + ": cannot be read");
      for (std::string line; std::getline(lines, line);) add_failure(arguments, line);
    } else if (option == "--contracts") {
      arguments.contracts = value;
    } else if (option == "--classes") {
      arguments.classes = value;
    } else if (option == "--jobs") {
      arguments.jobs = value;
    } else if (option == "--links-down") {
      arguments.links_down = value;
    } else if (option == "--subnets") {
      arguments.subnets = value;
    } else if (option == "--journal") {
      arguments.journal = value;
    } else if (option == "--tables") {
      arguments.tables.push_back(value);
    } else if (option == "--public-key") {
      arguments.public_key = value;
    } else {
      throw std::runtime_error(kUsage);
    }
  }
  if (arguments.files.size() != 3) throw std::runtime_error(kUsage);
  return arguments;
}

// What keeps a certificate without faults from being proven, one sentence each.
struct Gaps {
  std::vector<std::string> sentences;
  void add(const std::string& sentence) { sentences.push_back(sentence); }
};

// Walks the tables after each failure that is claimed and given; the others are a gap.
std::size_t check_failures(const Arguments& arguments, Network& network, Check& check, Gaps& gaps,
                           bool& are_all_checked) {
  const std::vector<std::string> claimed = check.survived_failures();
  std::size_t checked = 0;
  std::set<std::string> given;  // the smaller end first, as claimed
  for (const auto& [link, path] : arguments.failures) {
    const auto cut = link.find("--");
    const std::string other = cut == std::string::npos ? link : link.substr(cut + 2) + "--" + link.substr(0, cut);
    const bool is_claimed = (std::ranges::binary_search(claimed, link) || std::ranges::binary_search(claimed, other)) &&
                            given.insert(std::min(link, other)).second;
    const auto dead = network.dead;
    const Routes routes = read_routes(path);
    take_down(network, link);
    if (is_claimed) check.jobs_after(link, routes);
    network.dead = dead;
    checked += is_claimed ? 1U : 0U;
  }
  std::printf("%zu of %zu failures that are claimed to be survived were checked\n", checked, claimed.size());
  are_all_checked = checked == claimed.size();
  if (checked < claimed.size()) {
    const auto left_out = std::ranges::find_if(claimed, [&](const std::string& link) { return !given.contains(link); });
    gaps.add(fmt::format("the tables after {} of {} failures were not given{}", claimed.size() - checked,
                         claimed.size(), left_out == claimed.end() ? "" : ", the first of " + *left_out));
  }
  return checked;
}

int verdict_of(const Verdict& verdict, const Gaps& gaps) {
  if (verdict.faults > 0) {
    std::printf("DOES NOT HOLD: %zu faults\n", verdict.faults);
    return 1;
  }
  if (gaps.sentences.empty()) {
    std::printf("HOLDS\n");
    return 0;
  }
  for (const std::string& gap : gaps.sentences) std::printf("NOT CHECKED: %s\n", gap.c_str());
  std::printf("INCOMPLETE: no faults, but not all that is claimed was checked\n");
  return 3;
}

Json items_of(const std::string& path) {
  const Json file = Json::parse(file_text(path));
  if (!file.is_object() || !file.contains("items")) throw std::runtime_error(path + ": has no items");
  return file.at("items");
}

// What was promised, and what ports reported, from the journal, with the keys that ports have to have; or from what the REST
// API answered.
struct Given {
  Outside outside;
  std::optional<PortLimits> limits;  // by the journal
};
Given read_outside(const Arguments& arguments, const Json& certificate, const Network& network,
                   const SubnetTables* tables, Verdict& verdict) {
  if (!arguments.journal.empty()) {
    const Journal journal(arguments.journal, certificate.at("seq").get<std::uint64_t>(), verdict);
    if (tables != nullptr) check_keys(*tables, network, journal.pkeys(), journal.tenants_by_node(), verdict);
    return {journal.outside(), journal.limits()};
  }
  Given given;
  Outside& outside = given.outside;
  const auto read = [](Json& into, const std::string& path) {
    if (!path.empty()) into = items_of(path);
  };
  read(outside.contracts, arguments.contracts);
  read(outside.classes, arguments.classes);
  read(outside.jobs, arguments.jobs);
  read(outside.links_down, arguments.links_down);
  read(outside.subnets, arguments.subnets);
  return given;
}

// What the files say of running jobs.
struct Running {
  JobPorts jobs_by_port;
  std::set<std::string> as_cabled;
  std::map<std::string, std::size_t> by_agents;  // by class
};
Running compare_promises(const Outside& outside, const Network& network, const Json& certificate, Verdict& verdict,
                         Gaps& gaps) {
  if (!outside.complete()) {
    gaps.add("contracts, classes, jobs and links that are down were not given from outside the certificate");
    return {job_ports(certificate), {}, {}};
  }
  if (outside.subnets.is_null() && certificate.contains("spread")) {
    gaps.add("what subnets spread their packets over was not given from outside the certificate");
  }
  const Promises promises(outside, network, verdict);
  promises.compare(certificate, verdict);
  if (promises.at_risk() > 0) std::printf("%zu guarantees are at risk and not promised now\n", promises.at_risk());
  for (const std::string& job : promises.not_covered()) {
    gaps.add(job + " has a contract that survives failures, and nothing is reserved for them at present");
  }
  for (const std::string& job : promises.not_computed()) {
    gaps.add("the flows of " + job +
             " follow from what the files do not say: switches that reduce, or shared adapters");
  }
  return {promises.jobs_by_port(), promises.as_cabled(), promises.by_agents()};
}

// What no file can show.
void name_assumptions(const Running& running, const SubnetTables* tables, const Network& network,
                      const Json& certificate) {
  for (const auto& [qos_class, jobs] : running.by_agents) {
    std::printf("ASSUMED: agents on the nodes of %zu jobs limit them inside class %s, as their contracts ask", jobs,
                qos_class.c_str());
    if (tables == nullptr) {
      std::printf("\n");
      continue;
    }
    const std::size_t ports = ports_let_in(*tables, network, certificate, qos_class, running.jobs_by_port);
    std::printf("; by %zu adapter ports without such a job switches let its service levels in\n", ports);
  }
}

// Packets are as large as any of those who know says.
std::int64_t packet_units(const Json& certificate, const std::optional<PortLimits>& by_journal,
                          const std::optional<PortLimits>& by_devices, Verdict& verdict) {
  check_limits(certificate, by_journal ? &*by_journal : nullptr, by_devices ? &*by_devices : nullptr, verdict);
  std::int64_t mtu = certificate.at("ports").at("mtuBytes").get<std::int64_t>();
  if (by_journal) mtu = std::max(mtu, by_journal->mtu_bytes);
  if (by_devices && by_devices->known) mtu = std::max(mtu, by_devices->mtu_bytes);
  if (!by_journal && !by_devices) {
    std::printf(
        "ASSUMED: ports have %s arbitration entries, and packets up to %lld bytes of payload, as the certificate "
        "says\n",
        certificate.at("ports").at("arbitrationEntries").dump().c_str(), static_cast<long long>(mtu));
  }
  return largest_packet(mtu);
}

// What links run at as the service noted it: less than their rate is all that may be promised.
void take_rates(const std::map<std::string, std::int64_t>& seen_mbps, Network& network) {
  for (const auto& [link, mbps] : seen_mbps) {
    const auto cut = link.find("--");
    if (cut == std::string::npos) continue;
    for (const PortName& end : {link.substr(0, cut), link.substr(cut + 2)}) {
      const auto rate = network.rate_mbps.find(end);
      if (rate != network.rate_mbps.end()) rate->second = rate->second == 0 ? mbps : std::min(rate->second, mbps);
    }
  }
}

void take_links_down(const Json& certificate, Network& network, Verdict& verdict) {
  for (const Json& one : certificate.at("linksDown")) {
    const auto link = one.get<std::string>();
    const auto cut = link.find("--");
    const auto peer = cut == std::string::npos ? network.peer.end() : network.peer.find(link.substr(0, cut));
    if (peer == network.peer.end() || peer->second != link.substr(cut + 2)) {
      verdict.fault(link + ": is said to be down, and the fabric has no such cable");
    } else {
      take_down(network, link);
    }
  }
}

int run(const std::vector<std::string>& words) {
  const Arguments arguments = read_arguments(words);
  const auto& files = arguments.files;
  Network network = read_network(files[0]);
  const std::string written = file_text(files[2]);
  const Json certificate = Json::parse(written);
  if (!certificate.is_object() || certificate.value("railweave", Json()) != "certificate" ||
      certificate.value("version", Json()) != 2) {
    throw std::runtime_error(files[2] + ": not a certificate of version 2");
  }
  Verdict verdict;
  Gaps gaps;
  check_form(certificate, verdict);
  if (verdict.faults > 0) return verdict_of(verdict, gaps);
  if (!arguments.public_key.empty()) {
    check_signature(written, arguments.public_key, verdict);
  } else if (is_signed(written)) {
    gaps.add("the certificate is signed, and no public key was given");
  }
  const bool whole = is_subnet_tables(files[1]);
  SubnetTables tables = whole ? read_subnet_tables(files[1], verdict) : SubnetTables{read_routes(files[1]), {}};
  for (const std::string& more : arguments.tables) add_tables(tables, read_subnet_tables(more, verdict), verdict);
  const Routes& routes = tables.routes;
  if (certificate.at("routes").at("fnv1a64") != routes.digest) {
    verdict.fault("the certificate belongs to other routes: " +
                  certificate.at("routes").at("fnv1a64").get<std::string>() + ", these are " + routes.digest);
  }
  take_links_down(certificate, network, verdict);
  if (whole) take_facts(tables, network, verdict);
  if (arguments.list_failures) {
    Check check(network, certificate, 0, verdict);
    check.jobs(routes);
    for (const std::string& link : check.survived_failures()) std::printf("%s\n", link.c_str());
    return 0;
  }
  // 1. What was promised.
  const Given given = read_outside(arguments, certificate, network, whole ? &tables : nullptr, verdict);
  take_rates(given.outside.seen_mbps, network);
  const Running running = compare_promises(given.outside, network, certificate, verdict, gaps);
  // 2. What devices hold.
  const auto by_devices = whole ? std::optional(limits_of(tables)) : std::nullopt;
  const std::int64_t units = packet_units(certificate, given.limits, by_devices, verdict);
  check_marks(certificate, verdict);
  if (whole) {
    check_devices(tables, network, verdict);
    check_lanes(tables, network, certificate, verdict);
    const std::size_t entrances = check_leaks(tables, network, certificate, running.jobs_by_port, verdict);
    std::printf("lanes are entered from links of their owners%s\n",
                entrances == 0
                    ? " alone"
                    : (fmt::format(" and at {} other places, from which hosts were walked", entrances)).c_str());
  }
  name_assumptions(running, whole ? &tables : nullptr, network, certificate);
  // 3. Whether it suffices.
  Check check(network, certificate, units, verdict);
  check.links();
  check.jobs(routes);
  const bool survivors = std::ranges::any_of(certificate.at("jobs"),
                                             [](const Json& job) { return job.at("survivesLinkFailure").get<bool>(); });
  bool are_all_checked = true;
  const std::size_t checked = check_failures(arguments, network, check, gaps, are_all_checked);
  check.nothing_beside(are_all_checked ? running.as_cabled : std::set<std::string>());
  if (survivors && checked == 0) gaps.add("jobs survive failures by contract, and no failure was checked");
  std::printf("%zu jobs, %zu links, %zu pairs walked, %zu largest matchings, %zu failures checked\n",
              certificate.at("jobs").size(), certificate.at("links").size(), check.pairs, check.matchings, checked);
  return verdict_of(verdict, gaps);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "railweave-verify: %s\n", error.what());
    return 2;
  }
}
