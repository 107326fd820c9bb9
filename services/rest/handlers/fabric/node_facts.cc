#include "services/rest/handlers/fabric/node_facts.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "fabric/base/text/utf8.h"
#include "fabric/formats/native/native_json.h"
#include "fabric/topology/host_match.h"
#include "services/json/strict_json.h"
#include "services/rest/handlers/fabric/name_pattern.h"

namespace railweave::api {
namespace {

using fabric::HostId;
using fabric::Topology;

constexpr std::size_t kMaxInventory = fabric::TopologyBuilder::kMaxHosts;
constexpr std::size_t kMaxFactBytes = 253;

bool is_name(const std::string& text) {
  return !text.empty() && text.size() <= kMaxFactBytes && is_printable_utf8(text);
}

void read_facts(ObjectReader& reader, NodeFacts& facts) {
  std::optional<std::string> kind;
  reader.read("rack", facts.rack);
  reader.read("kind", kind);
  if (facts.rack && !facts.rack->empty() && !is_name(*facts.rack)) {
    reader.set_error("rack", "is unprintable, or longer than 253 bytes");
  }
  if (kind) {
    facts.kind = parse_enum<fabric::HostKind>(*kind);
    if (!facts.kind) reader.set_error("kind", "is no kind of a node", "compute, storage, management or unnamed");
  }
  const Json* labels = reader.take("labels");
  if (labels == nullptr) return;
  if (!labels->is_object() || labels->size() > fabric::TopologyBuilder::kMaxLabelsPerHost) {
    return reader.set_error("labels", "is no object of at most 256 labels");
  }
  for (const auto& [key, value] : labels->items()) {
    const bool text = value.is_string() && is_printable_utf8(value.get<std::string>());
    if (!is_name(key) || !(value.is_null() || (text && value.get<std::string>().size() <= kMaxFactBytes))) {
      return reader.set_error("labels", "has a label whose name or value is unprintable or too long",
                              "texts of at most 253 bytes; null removes a label");
    }
    facts.labels.emplace(key, value.is_null() ? std::nullopt : std::optional(value.get<std::string>()));
  }
}

Result<ImportedTopology> read_document(const std::string& document, const std::string& source) {
  fabric::TopologyBuilder builder;
  fabric::ReadOptions options;
  options.source = source;
  if (auto read = fabric::read_native_json(document, options, builder); !read) return std::unexpected(read.error());
  return finish_import(std::move(builder));
}

void set_facts(Json& host, const NodeFacts& facts) {
  if (facts.rack) {
    if (facts.rack->empty()) {
      host.erase("rack");
    } else {
      host["rack"] = *facts.rack;
    }
  }
  if (facts.kind) host["kind"] = railweave::to_text(*facts.kind);
  for (const auto& [key, value] : facts.labels) {
    if (value) {
      host["labels"][key] = *value;
    } else if (host.contains("labels")) {
      host["labels"].erase(key);
    }
  }
}

void declare_racks(Json& document) {
  std::map<std::string, bool> known;
  Json& racks = document["racks"];
  if (!racks.is_array()) racks = Json::array();
  for (const auto& rack : racks) known[rack.get<std::string>()] = true;
  for (const auto& host : document["hosts"]) {
    if (host.contains("rack") && !known[host["rack"].get<std::string>()]) {
      known[host["rack"].get<std::string>()] = true;
      racks.push_back(host["rack"]);
    }
  }
}

}  // namespace

Result<NodeFacts> read_node_facts(const std::string& node, std::string_view body) {
  auto value = parse_json(body.empty() ? std::string_view("{}") : body);
  if (!value) return std::unexpected(value.error());
  ObjectReader reader(*value, "");
  NodeFacts facts{.node = node, .rack = {}, .kind = {}, .labels = {}};
  read_facts(reader, facts);
  if (auto done = reader.finish(); !done) return std::unexpected(done.error());
  return facts;
}

Result<std::vector<NodeFacts>> read_inventory(std::string_view body) {
  auto value = parse_json(body);
  if (!value) return std::unexpected(value.error());
  ObjectReader reader(*value, "");
  std::vector<NodeFacts> all;
  reader.require("nodes");
  if (const Json* list = reader.take("nodes")) {
    if (!list->is_array() || list->size() > kMaxInventory) reader.set_error("nodes", "is no list of nodes");
    for (std::size_t i = 0; list->is_array() && i < std::min(list->size(), kMaxInventory); ++i) {
      ObjectReader fields((*list)[i], fmt::format("{}/{}", reader.pointer("nodes"), i));
      NodeFacts facts;
      fields.require("id");
      fields.read("id", facts.node);
      read_facts(fields, facts);
      if (auto done = fields.finish(); !done) {
        reader.set_error(std::move(done.error()));
        break;
      }
      all.push_back(std::move(facts));
    }
  }
  if (auto done = reader.finish(); !done) return std::unexpected(done.error());
  return all;
}

Result<ImportedTopology> with_node_facts(const Topology& present, std::span<const NodeFacts> facts) {
  auto document = parse_json(fabric::write_native_json(present));
  if (!document) return std::unexpected(document.error());
  std::map<std::string, Json*, std::less<>> by_name;
  if (document->contains("hosts")) {
    for (auto& host : (*document)["hosts"]) by_name.emplace(host["name"].get<std::string>(), &host);
  }
  for (const NodeFacts& one : facts) {
    std::vector<Json*> hosts;
    if (const auto at = by_name.find(one.node); at != by_name.end()) {
      hosts.push_back(at->second);
    } else if (is_pattern(one.node)) {
      for (const auto& [name, host] : by_name) {
        if (matches_pattern(one.node, name)) hosts.push_back(host);
      }
    }
    if (hosts.empty()) {
      return fail(ErrorKind::notFound, "nodes.notFound", "there is no node '" + one.node + "'", {},
                  "GET /v1/nodes lists them");
    }
    for (Json* host : hosts) set_facts(*host, one);
  }
  declare_racks(*document);
  return read_document(document->dump(), "facts of nodes");
}

Result<ImportedTopology> keep_node_facts(const Topology& present, ImportedTopology imported) {
  const Topology& now = *imported.topology;
  const auto renamed = fabric::renamed_hosts(present, now);
  std::vector<NodeFacts> kept;
  for (const HostId host : present.hosts()) {
    const HostId same = now.find_host(fabric::name_after(renamed, std::string(present.name(host))));
    if (!same) continue;
    NodeFacts facts{.node = std::string(now.name(same)), .rack = {}, .kind = {}, .labels = {}};
    if (present.rack(host) && !now.rack(same)) facts.rack = std::string(present.name(present.rack(host)));
    if (present.kind(host) != now.kind(same)) facts.kind = present.kind(host);
    for (const auto& label : present.labels(host)) {
      const std::string_view key = present.text(label.key);
      const bool said =
          std::ranges::any_of(now.labels(same), [&](const auto& one) { return now.text(one.key) == key; });
      if (!said) facts.labels.emplace(key, std::string(present.text(label.value)));
    }
    if (facts.rack || facts.kind || !facts.labels.empty()) kept.push_back(std::move(facts));
  }
  if (kept.empty()) return imported;
  return with_node_facts(now, kept);
}

}  // namespace railweave::api
