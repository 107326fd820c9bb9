#include "fabric/formats/infiniband/ibdiagnet_csv.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "fabric/base/lower_case.h"
#include "fabric/base/whole_number.h"
#include "fabric/formats/infiniband/link_text.h"
#include "fabric/formats/infiniband/subnet_draft.h"
#include "fabric/formats/text/text_lines.h"

namespace railweave::fabric {
namespace {

constexpr std::size_t kMaxColumns = 256;

// Commas inside quotes do not separate; quotes are taken off.
std::vector<std::string_view> csv_cells(std::string_view line) {
  std::vector<std::string_view> cells;
  while (cells.size() < kMaxColumns) {
    if (line.starts_with('"')) {
      const auto close = line.find('"', 1);
      if (close == std::string_view::npos) return {};
      cells.push_back(line.substr(1, close - 1));
      line.remove_prefix(close + 1);
      if (line.empty()) return cells;
      if (line.front() != ',') return {};
      line.remove_prefix(1);
    } else {
      const auto comma = line.find(',');
      cells.push_back(line.substr(0, comma));
      if (comma == std::string_view::npos) return cells;
      line.remove_prefix(comma + 1);
    }
  }
  return cells;
}

// The rows of one section, by the titles of its columns.
class CsvRow {
 public:
  void set_titles(const std::vector<std::string_view>& cells) {
    columns_.clear();
    for (std::size_t i = 0; i < cells.size(); ++i) columns_.try_emplace(lower_case(cells[i]), i);
  }
  bool set_cells(std::vector<std::string_view> cells) {
    cells_ = std::move(cells);
    return cells_.size() >= columns_.size();
  }
  [[nodiscard]] std::string_view text(const std::string& title) const {
    const auto found = columns_.find(title);
    return found == columns_.end() || found->second >= cells_.size() ? std::string_view() : cells_[found->second];
  }
  [[nodiscard]] std::optional<std::uint64_t> number(const std::string& title) const {
    std::string_view cell = text(title);
    const bool hex = cell.starts_with("0x");
    if (hex) cell.remove_prefix(2);
    return whole_number<std::uint64_t>(cell, UINT64_MAX, hex ? 16 : 10);
  }

 private:
  std::map<std::string, std::size_t> columns_;
  std::vector<std::string_view> cells_;
};

class IbdiagnetReader {
 public:
  IbdiagnetReader(const ReadOptions& options, TopologyBuilder& builder)
      : options_(options), builder_(builder), unreadable_(options, builder) {}

  Result<void> read(std::string_view text) {
    LineReader lines(text);
    bool titles = false;
    for (std::string_view line; lines.next(line);) {
      if (line.starts_with("START_")) {
        section_ = line.substr(6);
        titles = true;
      } else if (line.starts_with("END_")) {
        section_ = {};
      } else if (!line.empty() && is_read(section_)) {
        if (line.size() > kMaxLineBytes || !read_row(csv_cells(line), titles)) {
          unreadable_.add(lines.number(), 1, fmt::format("a row of section {} with all its columns", section_));
        }
        titles = false;
      }
      if (unreadable_.too_many()) return std::unexpected(unreadable_.unreadable_error(kShape));
      if (draft_.over_limit()) return std::unexpected(SubnetDraft::over_limit_error(options_));
    }
    if (draft_.device_count() == 0) return std::unexpected(unreadable_.unreadable_error(kShape));
    add_links();
    unreadable_.finish();
    return std::move(draft_).move_into(options_, builder_);
  }

 private:
  static constexpr std::string_view kShape = "ibdiagnet2.db_csv with sections START_NODES and START_LINKS";
  enum NodeType : std::uint8_t { kAdapter = 1, kSwitch = 2, kRouter = 3 };

  struct PortFacts {
    Guid guid;
    unsigned lid = 0, lmc = 0;
    LinkSpec link;
  };
  struct Link {
    Guid a, b;
    unsigned port_a = 0, port_b = 0;
  };

  static bool is_read(std::string_view section) {
    return section == "NODES" || section == "PORTS" || section == "LINKS";
  }

  bool read_row(std::vector<std::string_view> cells, bool titles) {
    if (cells.empty()) return false;
    if (titles) {
      row_.set_titles(cells);
      return true;
    }
    if (!row_.set_cells(std::move(cells))) return false;
    if (section_ == "NODES") return read_node();
    return section_ == "PORTS" ? read_port() : read_link();
  }

  bool read_node() {
    const auto guid = row_.number("nodeguid"), type = row_.number("nodetype"), ports = row_.number("numports");
    if (!guid || !type || !ports || *type < kAdapter || *type > kRouter ||
        *ports > TopologyBuilder::kMaxPortsPerDevice) {
      return false;
    }
    const NetlistDevice device = *type == kSwitch   ? NetlistDevice::network_switch
                                 : *type == kRouter ? NetlistDevice::router
                                                    : NetlistDevice::adapter;
    const auto [at, is_new] = devices_.try_emplace(Guid(*guid), static_cast<std::uint32_t>(draft_.device_count()));
    if (is_new) {
      draft_.add_device({.type = device,
                         .guid = Guid(*guid),
                         .ports = static_cast<unsigned>(*ports),
                         .description = row_.text("nodedesc"),
                         .has_section = true});
    }
    return true;
  }

  bool read_port() {
    const auto node = row_.number("nodeguid"), port = row_.number("portnum");
    if (!node || !port || *port > TopologyBuilder::kMaxPortsPerDevice) return false;
    PortFacts facts;
    facts.guid = Guid(row_.number("portguid").value_or(0));
    facts.lid = static_cast<unsigned>(row_.number("lid").value_or(0) & 0xffffU);
    facts.lmc = static_cast<unsigned>(row_.number("lmc").value_or(0) & 7U);
    facts.link = infiniband_link(width_of_mask(static_cast<unsigned>(row_.number("linkwidthactv").value_or(0))),
                                 speed_of_ibdiagnet(row_.number("linkspeedactv").value_or(0)));
    if (ports_.size() >= SubnetDraft::kMaxCableEnds) return false;
    ports_.try_emplace({Guid(*node), static_cast<unsigned>(*port)}, facts);
    return true;
  }

  bool read_link() {
    const auto a = row_.number("nodeguid1"), b = row_.number("nodeguid2");
    const auto port_a = row_.number("portnum1"), port_b = row_.number("portnum2");
    const auto fits = [](const auto& port) {
      return port && *port > 0 && *port <= TopologyBuilder::kMaxPortsPerDevice;
    };
    if (!a || !b || !fits(port_a) || !fits(port_b) || links_.size() >= SubnetDraft::kMaxCableEnds / 2) return false;
    links_.push_back({Guid(*a), Guid(*b), static_cast<unsigned>(*port_a), static_cast<unsigned>(*port_b)});
    return true;
  }

  void add_links() {
    for (const auto& [end, facts] : ports_) {  // port 0 is a switch's own, with its LID
      const auto found = devices_.find(end.first);
      if (end.second != 0 || found == devices_.end()) continue;
      draft_.device(found->second).lid = facts.lid;
      draft_.device(found->second).lmc = facts.lmc;
    }
    for (const Link& link : links_) {
      const std::uint32_t a = listed(link.a), b = listed(link.b);
      add_end(a, link.a, link.port_a, b, link.b, link.port_b);
      add_end(b, link.b, link.port_b, a, link.a, link.port_a);
    }
  }

  std::uint32_t listed(Guid guid) {
    const auto [at, is_new] = devices_.try_emplace(guid, static_cast<std::uint32_t>(draft_.device_count()));
    if (is_new) draft_.add_device({.type = NetlistDevice::network_switch, .guid = guid});
    return at->second;
  }

  void add_end(std::uint32_t device, Guid guid, unsigned port, std::uint32_t peer, Guid peer_guid, unsigned peer_port) {
    const auto facts_of = [&](Guid node, unsigned number) {
      const auto found = ports_.find({node, number});
      return found == ports_.end() ? PortFacts() : found->second;
    };
    const PortFacts own = facts_of(guid, port), other = facts_of(peer_guid, peer_port);
    const bool is_switch = draft_.device(device).type == NetlistDevice::network_switch;
    const bool to_switch = draft_.device(peer).type == NetlistDevice::network_switch;
    draft_.add_cable_end({.device = device,
                          .port = port,
                          .peer = peer,
                          .peer_port = peer_port,
                          .guid = is_switch ? Guid() : own.guid,
                          .peer_guid = to_switch ? Guid() : other.guid,
                          .lid = is_switch ? 0 : own.lid,
                          .lmc = is_switch ? 0 : own.lmc,
                          .peer_lid = to_switch ? 0 : other.lid,
                          .link = own.link});
  }

  const ReadOptions& options_;
  TopologyBuilder& builder_;
  UnreadableLines unreadable_;
  SubnetDraft draft_;
  std::unordered_map<Guid, std::uint32_t> devices_;
  std::map<std::pair<Guid, unsigned>, PortFacts> ports_;
  std::vector<Link> links_;
  std::string_view section_;
  CsvRow row_;
};

}  // namespace

Result<void> read_ibdiagnet_csv(std::string_view text, const ReadOptions& options, TopologyBuilder& builder) {
  const auto plain = plain_text(text, options);
  if (!plain) return std::unexpected(plain.error());
  return IbdiagnetReader(options, builder).read(*plain);
}

}  // namespace railweave::fabric
