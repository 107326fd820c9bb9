// railweave-verify FABRIC FDBS CERTIFICATE [--after LINK=FDBS]...: checks a certificate of guarantees by brute force.
// What it checks, and its exit codes: certificate.md.
#include <cstdio>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "services/verify/check.h"
#include "services/verify/network.h"

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

int run(const std::vector<std::string>& arguments) {
  std::vector<std::string> files;
  std::vector<std::pair<std::string, std::string>> failures;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] != "--after") {
      files.push_back(arguments[i]);
      continue;
    }
    const std::string pair = i + 1 < arguments.size() ? arguments[++i] : "";
    const auto cut = pair.find('=');
    if (cut == std::string::npos) throw std::runtime_error("--after needs LINK=FDBS");
    failures.emplace_back(pair.substr(0, cut), pair.substr(cut + 1));
  }
  if (files.size() != 3)
    throw std::runtime_error("usage: railweave-verify FABRIC FDBS CERTIFICATE [--after LINK=FDBS]...");
  Network network = read_network(files[0]);
  const Routes routes = read_routes(files[1]);
  const Json certificate = Json::parse(file_text(files[2]));
  if (certificate.value("railweave", "") != "certificate" || certificate.value("version", 0) != 1) {
    throw std::runtime_error(files[2] + ": not a certificate of version 1");
  }
  Verdict verdict;
  if (certificate.at("routes").at("fnv1a64") != routes.digest) {
    verdict.fault("the certificate belongs to other routes: " +
                  certificate.at("routes").at("fnv1a64").get<std::string>() + ", these are " + routes.digest);
  }
  for (const Json& link : certificate.at("linksDown")) take_down(network, link.get<std::string>());
  Check check(network, certificate, verdict);
  check.links();
  check.jobs(routes, false, "");
  for (const auto& [link, path] : failures) {
    const auto dead = network.dead;
    take_down(network, link);
    check.jobs(read_routes(path), true, " after " + link + " failed");
    network.dead = dead;
  }
  std::printf("%zu jobs, %zu links, %zu pairs walked, %zu largest matchings, %zu failures checked\n",
              certificate.at("jobs").size(), certificate.at("links").size(), check.pairs, check.matchings,
              failures.size());
  std::printf(verdict.faults == 0 ? "HOLDS\n" : "DOES NOT HOLD: %zu faults\n", verdict.faults);
  return verdict.faults == 0 ? 0 : 1;
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
