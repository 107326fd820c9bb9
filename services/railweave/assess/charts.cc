#include "services/railweave/assess/charts.h"

#include <algorithm>
#include <array>

#include <fmt/core.h>

#include "services/railweave/terminal/formatted.h"
#include "services/railweave/terminal/svg.h"

namespace railweave::cli {
namespace {

// Wide enough for the text in it at 390 px of the page: a picture is never narrower than this.
constexpr int kChartWidth = 340;
constexpr std::size_t kBins = 16;
constexpr std::size_t kMaxGroups = 400;

std::string svg_open(int height, std::string_view title) {
  return fmt::format("<svg class='chart' role='img' viewBox='0 0 {} {}'><title>{}</title>\n", kChartWidth, height,
                     svg_escaped(title));
}

std::string text_at(double x, double y, std::string_view text, std::string_view classes = {}) {
  return fmt::format("<text x='{}' y='{}' class='{}'>{}</text>\n", formatted("%.1f", x), formatted("%.1f", y), classes,
                     svg_escaped(text));
}

std::string rect_at(double x, double y, double width, double height, std::string_view classes,
                    std::string_view title = {}) {
  return fmt::format("<rect x='{}' y='{}' width='{}' height='{}' class='{}'>{}</rect>\n", formatted("%.2f", x),
                     formatted("%.2f", y), formatted("%.2f", std::max(0.0, width)),
                     formatted("%.2f", std::max(0.0, height)), classes,
                     title.empty() ? "" : "<title>" + svg_escaped(title) + "</title>");
}

// From the least to the most loaded link of both.
struct LoadRange {
  std::uint64_t least = UINT64_MAX, most = 0;
};

std::array<std::size_t, kBins> binned_loads(std::span<const std::uint64_t> loads, const LoadRange& range) {
  std::array<std::size_t, kBins> bins{};
  const std::uint64_t span = range.most - range.least + 1;
  for (const std::uint64_t load : loads)
    bins[std::min<std::size_t>(kBins - 1, (load - range.least) * kBins / span)] += 1;
  return bins;
}

}  // namespace

std::string loads_chart(const NamedLoads& ours, const NamedLoads& held) {
  LoadRange range;
  for (const auto& set : {ours.loads, held.loads}) {
    for (const std::uint64_t load : set) range = {std::min(range.least, load), std::max(range.most, load)};
  }
  if (range.least > range.most) return {};
  const auto own = binned_loads(ours.loads, range), other = binned_loads(held.loads, range);
  const std::size_t highest = std::max<std::size_t>(1, std::max(std::ranges::max(own), std::ranges::max(other)));
  constexpr double kLeft = 8, kTop = 34, kHigh = 110;
  constexpr double kStep = (kChartWidth - 2 * kLeft) / static_cast<double>(kBins);
  std::string svg = svg_open(182, "How many links between switches carry how many paths between host ports");
  svg += rect_at(kLeft, 8, 10, 10, "own") + text_at(kLeft + 14, 17, ours.name);
  if (!held.loads.empty()) svg += rect_at(kLeft + 150, 8, 10, 10, "held") + text_at(kLeft + 164, 17, held.name);
  for (std::size_t bin = 0; bin < kBins; ++bin) {
    const double x = kLeft + static_cast<double>(bin) * kStep;
    const auto bar = [&](std::size_t count, double at, double width, std::string_view classes) {
      const double high = kHigh * static_cast<double>(count) / static_cast<double>(highest);
      svg += rect_at(at, kTop + kHigh - high, width, high, classes, fmt::format("{} links", count));
    };
    const double width = held.loads.empty() ? kStep - 2 : (kStep - 2) / 2;
    bar(own[bin], x, width, "own");
    if (!held.loads.empty()) bar(other[bin], x + width, width, "held");
  }
  svg += rect_at(kLeft, kTop + kHigh, kChartWidth - 2 * kLeft, 1, "axis");
  svg += text_at(kLeft, kTop + kHigh + 14, std::to_string(range.least)) +
         text_at(kChartWidth - kLeft, kTop + kHigh + 14, fmt::format("{} pairs", range.most), "end");
  svg += text_at(kLeft, kTop + kHigh + 30, fmt::format("highest bar: {} links", highest), "note");
  return svg + "</svg>\n";
}

std::string bars_chart(std::string_view title, const std::vector<Bar>& bars) {
  constexpr double kRow = 34;
  double most = 0;
  for (const Bar& bar : bars) most = std::max(most, bar.length);
  std::string svg = svg_open(static_cast<int>(kRow * static_cast<double>(bars.size())) + 4, title);
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const double y = kRow * static_cast<double>(i);
    svg += text_at(0, y + 12, bars[i].name) + text_at(kChartWidth, y + 12, bars[i].value, "end");
    svg += rect_at(0, y + 17, kChartWidth, 9, "track");
    const double length = most > 0 ? kChartWidth * bars[i].length / most : 0;
    svg += rect_at(0, y + 17, length, 9, bars[i].bad ? "held" : "own", bars[i].value);
  }
  return svg + "</svg>\n";
}

std::string hosts_chart(const std::vector<GroupRow>& rows) {
  constexpr double kSquare = 10, kLeft = 96;
  constexpr auto kInRow = static_cast<std::size_t>((kChartWidth - kLeft) / kSquare);
  std::size_t lines = 0;
  std::string body;
  for (std::size_t r = 0; r < std::min(rows.size(), kMaxGroups); ++r) {
    const double y = 13 * static_cast<double>(lines);
    const std::string name = rows[r].name.size() > 15 ? rows[r].name.substr(0, 14) + "…" : rows[r].name;
    body += text_at(0, y + 9, name, "small");
    for (std::size_t h = 0; h < rows[r].hosts.size(); ++h) {
      const HostSquare& host = rows[r].hosts[h];
      const double x = kLeft + kSquare * static_cast<double>(h % kInRow);
      const std::size_t line = lines + h / kInRow;
      const double at = 13 * static_cast<double>(line);
      const std::string colour = host.job.empty() ? "idle" : fmt::format("job{}", host.colour % kJobColours);
      const std::string note =
          host.name + (host.job.empty() ? "" : ": " + host.job) + (host.faulty ? "; lacks a rail or a cable" : "");
      body += rect_at(x, at + 1, kSquare - 1.5, kSquare - 1.5, host.faulty ? colour + " faulty" : colour, note);
    }
    lines += std::max<std::size_t>(1, (rows[r].hosts.size() + kInRow - 1) / kInRow);
  }
  return svg_open(static_cast<int>(13 * lines) + 4, "Hosts by leaf group") + body + "</svg>\n";
}

}  // namespace railweave::cli
