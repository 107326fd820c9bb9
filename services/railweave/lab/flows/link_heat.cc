#include "services/railweave/lab/flows/link_heat.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>

#include <fmt/core.h>

#include "services/railweave/terminal/svg.h"

namespace railweave::cli {
namespace {

using fabric::PortId;
using fabric::SwitchId;
using fabric::Topology;

// The order of stages in the picture: up from the hosts, across, and down to them.
constexpr int kAcross = 1000, kOther = 3000;

std::pair<int, std::string> stage_of(const Topology& t, PortId out) {
  const PortId in = t.peer(out);
  if (!t.is_switch_port(out)) return {0, "hosts up"};
  if (!t.is_switch_port(in)) return {2 * kAcross, "hosts down"};
  const int from = t.tier(t.switch_of(out)), to = t.tier(t.switch_of(in));
  if (from == Topology::kNoTier || to == Topology::kNoTier) return {kOther, "beyond hosts"};
  const std::string tier = fmt::format("tier {}", std::min(from, to));
  if (from < to) return {1 + from, tier + " up"};
  if (from > to) return {2 * kAcross - 1 - to, tier + " down"};
  return {kAcross, tier + " across"};
}

template <class... Values>
std::string format(const char* pattern, Values... values) {
  char text[512];
  std::snprintf(text, sizeof text, pattern, values...);
  return text;
}

// White through yellow and orange to dark red; lightness falls steadily, so that the scale also reads in grey.
std::string colour(double heat) {
  constexpr std::array<std::array<double, 3>, 5> kStops = {
      {{245, 245, 245}, {255, 237, 160}, {254, 178, 76}, {240, 59, 32}, {110, 0, 30}}};
  const double at = std::clamp(heat, 0.0, 1.0) * (kStops.size() - 1);
  const auto low = std::min<std::size_t>(static_cast<std::size_t>(at), kStops.size() - 2);
  const double part = at - static_cast<double>(low);
  std::array<int, 3> rgb{};
  for (std::size_t i = 0; i < 3; ++i) {
    rgb[i] = static_cast<int>(kStops[low][i] + part * (kStops[low + 1][i] - kStops[low][i]));
  }
  return format("#%02x%02x%02x", static_cast<unsigned>(rgb[0]), static_cast<unsigned>(rgb[1]),
                static_cast<unsigned>(rgb[2]));
}

}  // namespace

std::vector<LinkHeat> link_heats(const fabric::FabricView& view, const fabric::ClassRates& rates, std::size_t classes,
                                 const std::vector<double>& capacity_mbps) {
  const Topology& t = view.topology();
  std::vector<LinkHeat> heats;
  for (fabric::DirectedLink link = 0; link < capacity_mbps.size(); ++link) {
    const PortId out = fabric::out_port_of(t, link);
    const bool network = t.is_switch_port(out) || t.is_switch_port(t.peer(out));
    if (!network || capacity_mbps[link] <= 0) continue;
    LinkHeat heat{.link = link, .stage = stage_of(t, out).second, .capacity_mbps = capacity_mbps[link]};
    if (link < rates.flows.load.size()) heat.load_mbps = rates.flows.load[link];
    for (std::size_t c = 0; c < classes && link * classes + c < rates.class_load.size(); ++c) {
      const double load = rates.class_load[link * classes + c];
      if (load <= heat.fullest_class_mbps) continue;
      heat.fullest_class = static_cast<std::uint8_t>(c);
      heat.fullest_class_mbps = load;
    }
    heats.push_back(std::move(heat));
  }
  return heats;
}

std::vector<LinkHeat> hottest(std::vector<LinkHeat> heats, std::size_t most) {
  std::erase_if(heats, [](const LinkHeat& heat) { return heat.load_mbps <= 0; });
  std::ranges::stable_sort(heats, std::ranges::greater{}, &LinkHeat::heat);
  if (heats.size() > most) heats.resize(most);
  return heats;
}

std::string end_text(const Topology& topology, PortId port) {
  if (topology.is_switch_port(port)) {
    return fmt::format("{}/{}", topology.name(topology.switch_of(port)), topology.number(port));
  }
  if (!topology.is_hca_port(port)) return topology.port_text(port);
  const fabric::HcaId hca = topology.hca_of(port);
  if (!topology.host(hca)) return topology.port_text(port);
  std::string text(topology.name(topology.host(hca)));
  if (!topology.device(hca).empty()) text += "/" + std::string(topology.device(hca));
  return fmt::format("{}/{}", text, topology.number(port));
}

std::string link_heat_text(const Topology& topology, fabric::DirectedLink link) {
  const PortId out = fabric::out_port_of(topology, link);
  return end_text(topology, out) + " > " + end_text(topology, topology.peer(out));
}

std::string heat_svg(const Topology& topology, const std::vector<LinkHeat>& heats, const std::string& title) {
  constexpr int kWidth = 1000, kLeft = 120, kRight = 20, kTop = 90, kGap = 26, kMaxRows = 24;
  const auto order = [](const std::string& stage) {  // the inverse of stage_of()
    if (stage == "hosts up") return 0;
    if (stage == "hosts down") return 2 * kAcross;
    if (!stage.starts_with("tier ")) return kOther;
    const int tier = std::atoi(stage.c_str() + 5);
    return stage.ends_with("up") ? 1 + tier : stage.ends_with("down") ? 2 * kAcross - 1 - tier : kAcross;
  };
  std::map<int, std::vector<const LinkHeat*>> stages;
  for (const LinkHeat& heat : heats) stages[order(heat.stage)].push_back(&heat);
  std::string body;
  int y = kTop;
  const int width = kWidth - kLeft - kRight;
  for (const auto& [place, links] : stages) {
    int cell = 14;  // as large as the rows allow
    while (cell > 2 && static_cast<int>(links.size()) * cell * cell > width * cell * kMaxRows / 2) --cell;
    const std::size_t columns = static_cast<std::size_t>(width / cell);
    const std::size_t together = links.size() / (columns * kMaxRows) + 1;
    double sum = 0;
    for (const LinkHeat* link : links) sum += link->heat();
    const LinkHeat& fullest = **std::ranges::max_element(links, {}, [](const LinkHeat* link) { return link->heat(); });
    body += format("<text x='%d' y='%d' text-anchor='end'>%s</text>\n", kLeft - 10, y + cell, links[0]->stage.c_str());
    body += format("<text x='%d' y='%d' class='note'>%zu links, mean %.0f%%, fullest %.0f%%", kLeft, y - 6,
                   links.size(), 100 * sum / static_cast<double>(links.size()), 100 * fullest.heat());
    if (fullest.load_mbps > 0) body += ": " + svg_escaped(link_heat_text(topology, fullest.link));
    body += (together > 1 ? format(", a cell for %zu", together) : std::string()) + "</text>\n";
    std::size_t at = 0;
    for (std::size_t first = 0; first < links.size(); first += together, ++at) {
      const LinkHeat* hottest = links[first];
      const std::size_t last = std::min(links.size(), first + together);
      for (std::size_t i = first; i < last; ++i) {
        if (links[i]->heat() > hottest->heat()) hottest = links[i];
      }
      body += format("<rect x='%d' y='%d' width='%d' height='%d' fill='%s'><title>",
                     kLeft + static_cast<int>(at % columns) * cell, y + static_cast<int>(at / columns) * cell,
                     cell > 4 ? cell - 1 : cell, cell > 4 ? cell - 1 : cell, colour(hottest->heat()).c_str());
      body += svg_escaped(link_heat_text(topology, hottest->link)) +
              format(": %.0f%% of %.0f Gb/s", 100 * hottest->heat(), hottest->capacity_mbps / 1000);
      if (last > first + 1) body += format(", the fullest of %zu", last - first);
      body += "</title></rect>\n";
    }
    y += (static_cast<int>((at + columns - 1) / columns)) * cell + kGap;
  }
  std::string svg = svg_head(kWidth, y);
  svg += "<text x='20' y='26' class='title'>" + svg_escaped(title) + "</text>\n<text x='20' y='52'>0%</text>\n";
  for (int i = 0; i <= 10; ++i) {
    svg += format("<rect x='%d' y='40' width='18' height='14' fill='%s'/>\n", 48 + i * 18, colour(i / 10.0).c_str());
  }
  svg += "<text x='252' y='52'>100% of the link; a cell names its link where the pointer rests on it</text>\n";
  return svg + body + "</svg>\n";
}

}  // namespace railweave::cli
