// A fabric with cables in other ports, made from its native document: for tests of what follows exchanged cables. Shares
// no code with the service's own.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "fabric/formats/native/native_json.h"
#include "fabric/topology/topology_builder.h"

namespace railweave::fabric::testing {

// Cables of one fabric by their place in its document, whose ends a test puts elsewhere.
class Recabled {
 public:
  explicit Recabled(const Topology& topology) : document_(nlohmann::json::parse(write_native_json(topology))) {}

  // The cable at a switch's port.
  [[nodiscard]] std::size_t cable_at(const std::string& sw, unsigned port) const {
    const auto& switches = document_["switches"];
    std::size_t at = 0;
    while (switches.at(at)["name"] != sw) ++at;
    const auto& links = document_["links"];
    for (std::size_t i = 0; i < links.size(); ++i) {
      for (const unsigned end : {0U, 2U}) {
        if (links[i][end] == at && links[i][end + 1] == port) return i;
      }
    }
    return links.size();
  }
  [[nodiscard]] std::size_t cables() const { return document_["links"].size(); }
  [[nodiscard]] bool joins_switches(std::size_t cable) const {
    return document_["links"][cable][2] < document_["switches"].size();
  }

  // One end of each: the second ends (b), or the first of the one with the second of the other, so that first meets first.
  Recabled& exchange(std::size_t one, std::size_t other, bool crosswise = false) {
    auto& links = document_["links"];
    const unsigned of_other = crosswise ? 0 : 2;
    std::swap(links[one][2], links[other][of_other]);
    std::swap(links[one][3], links[other][of_other + 1]);
    return *this;
  }
  Recabled& unplug(std::size_t cable) {
    unplugged_.push_back(cable);
    return *this;
  }
  Recabled& plug(std::size_t cable) {
    std::erase(unplugged_, cable);
    return *this;
  }
  // The second end goes into another port of its device.
  Recabled& put_into(std::size_t cable, unsigned port) {
    document_["links"][cable][3] = port;
    return *this;
  }

  [[nodiscard]] TopologyPtr build() const {
    auto document = document_;
    auto& links = document["links"];
    auto kept = nlohmann::json::array();
    for (std::size_t i = 0; i < links.size(); ++i) {
      if (std::ranges::find(unplugged_, i) == unplugged_.end()) kept.push_back(links[i]);
    }
    links = std::move(kept);
    TopologyBuilder builder;
    const auto read = read_native_json(document.dump(), {}, builder);
    auto built = std::move(builder).build();
    return read && built ? std::make_shared<const Topology>(std::move(*built)) : nullptr;
  }

 private:
  nlohmann::json document_;
  std::vector<std::size_t> unplugged_;
};

}  // namespace railweave::fabric::testing
