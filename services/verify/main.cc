// railweave-verify FABRIC FDBS CERTIFICATE [--contracts F --classes F --jobs F --links-down F] [--after LINK=FDBS]...
// checks a certificate of guarantees by brute force, against what was promised outside it. What it checks, and its exit
// codes: certificate.md.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <optional>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "services/verify/check.h"
#include "services/verify/network.h"
#include "services/verify/promises.h"

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
    "usage: railweave-verify FABRIC FDBS CERTIFICATE [--contracts F --classes F --jobs F --links-down F] "
    "[--after LINK=FDBS]... [--after-list F] [--list-failures]";

struct Arguments {
  std::vector<std::string> files;
  Outside outside;
  std::vector<std::pair<std::string, std::string>> failures;  // link and file
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
      arguments.outside.contracts = value;
    } else if (option == "--classes") {
      arguments.outside.classes = value;
    } else if (option == "--jobs") {
      arguments.outside.jobs = value;
    } else if (option == "--links-down") {
      arguments.outside.links_down = value;
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
std::size_t check_failures(const Arguments& arguments, Network& network, Check& check, Gaps& gaps) {
  const std::vector<std::string> claimed = check.survived_failures();
  std::size_t checked = 0;
  for (const auto& [link, path] : arguments.failures) {
    const auto cut = link.find("--");
    const std::string other = cut == std::string::npos ? link : link.substr(cut + 2) + "--" + link.substr(0, cut);
    const bool is_claimed = std::ranges::binary_search(claimed, link) || std::ranges::binary_search(claimed, other);
    const auto dead = network.dead;
    const Routes routes = read_routes(path);
    take_down(network, link);
    if (is_claimed) check.jobs_after(link, routes);
    network.dead = dead;
    checked += is_claimed ? 1U : 0U;
  }
  std::printf("%zu of %zu failures that are claimed to be survived were checked\n", checked, claimed.size());
  if (checked < claimed.size()) {
    gaps.add("the tables after " + std::to_string(claimed.size() - checked) + " of " + std::to_string(claimed.size()) +
             " failures were not given");
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

int run(const std::vector<std::string>& words) {
  const Arguments arguments = read_arguments(words);
  const auto& files = arguments.files;
  Network network = read_network(files[0]);
  const Routes routes = read_routes(files[1]);
  const Json certificate = Json::parse(file_text(files[2]));
  if (certificate.value("railweave", "") != "certificate" || certificate.value("version", 0) != 1) {
    throw std::runtime_error(files[2] + ": not a certificate of version 1");
  }
  Verdict verdict;
  Gaps gaps;
  if (certificate.at("routes").at("fnv1a64") != routes.digest) {
    verdict.fault("the certificate belongs to other routes: " +
                  certificate.at("routes").at("fnv1a64").get<std::string>() + ", these are " + routes.digest);
  }
  for (const Json& link : certificate.at("linksDown")) take_down(network, link.get<std::string>());
  Check check(network, certificate, verdict);
  check.links();
  check.jobs(routes);
  if (arguments.list_failures) {
    for (const std::string& link : check.survived_failures()) std::printf("%s\n", link.c_str());
    return 0;
  }
  bool survivors = std::ranges::any_of(certificate.at("jobs"),
                                       [](const Json& job) { return job.at("survivesLinkFailure").get<bool>(); });
  if (arguments.outside.complete()) {
    const Promises promises(arguments.outside, network, verdict);
    promises.compare(certificate, verdict);
    if (promises.at_risk() > 0) std::printf("%zu guarantees are at risk and not promised now\n", promises.at_risk());
    for (const std::string& job : promises.not_covered()) {
      gaps.add(job + " has a contract that survives failures, and nothing is reserved for them at present");
    }
    for (const std::string& job : promises.not_computed()) {
      gaps.add("the flows of " + job +
               " follow from what the files do not say: switches that reduce, or shared adapters");
    }
  } else {
    gaps.add("contracts, classes, jobs and links that are down were not given from outside the certificate");
  }
  const std::size_t checked = check_failures(arguments, network, check, gaps);
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
