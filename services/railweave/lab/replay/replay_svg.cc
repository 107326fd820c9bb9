#include "services/railweave/lab/replay/replay_svg.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <vector>

#include <fmt/core.h>

#include "services/railweave/terminal/svg.h"

namespace railweave::cli {
namespace {

constexpr int kWidth = 1000, kLeft = 80, kRight = 20, kTop = 64, kPanel = 170, kGap = 58;
constexpr std::size_t kBins = 460;
// Okabe and Ito's colours, which colour-blind readers can tell apart.
constexpr std::array<const char*, 7> kColours = {"#0072b2", "#e69f00", "#009e73", "#cc79a7",
                                                 "#d55e00", "#56b4e9", "#8a8a8a"};
constexpr std::array<const char*, 6> kDashes = {"none", "9 4", "3 3", "12 3 3 3", "6 2", "1 3"};

// Lines that lie on each other are all seen: the first is the widest, the last the narrowest, and each has its dashes.
std::string stroke(std::size_t i, std::size_t count) {
  return fmt::format("stroke='{}' stroke-width='{}.5' stroke-dasharray='{}'", kColours[i % kColours.size()], count - i,
                     kDashes[i % kDashes.size()]);
}

template <class... Values>
std::string format(const char* pattern, Values... values) {
  char text[512];
  std::snprintf(text, sizeof text, pattern, values...);
  return text;
}

// Averages over time, one per bin.
template <class Value>
std::vector<double> binned(const std::vector<ReplaySample>& samples, double span_s, Value value) {
  std::vector<double> bins(kBins, 0);
  const double width = span_s / static_cast<double>(kBins);
  for (std::size_t i = 0; i + 1 < samples.size(); ++i) {
    double at = static_cast<double>(samples[i].at_s);
    const double end = static_cast<double>(samples[i + 1].at_s);
    while (at < end) {
      const auto bin = std::min(kBins - 1, static_cast<std::size_t>(at / width));
      double to = std::min(end, static_cast<double>(bin + 1) * width);
      if (to <= at) to = end;
      bins[bin] += (to - at) * value(samples[i]) / width;
      at = to;
    }
  }
  return bins;
}

double round_up(double most) {
  if (most <= 0) return 1;
  const double power = std::pow(10, std::floor(std::log10(most)));
  for (const double step : {1.0, 2.0, 2.5, 5.0, 10.0}) {
    if (step * power >= most) return step * power;
  }
  return 10 * power;
}

std::string label(double value) {
  return value >= 1000 && value == std::floor(value) ? format("%.0f", value) : format("%.4g", value);
}

void panel(std::string& svg, int top, const char* title, const std::vector<std::vector<double>>& lines, double most,
           double span_days) {
  const int height = kPanel, width = kWidth - kLeft - kRight;
  svg += format("<text x='%d' y='%d' class='title'>%s</text>\n", kLeft, top - 10, title);
  for (int i = 0; i <= 4; ++i) {
    const int y = top + height - height * i / 4;
    svg += format("<line x1='%d' y1='%d' x2='%d' y2='%d' class='%s'/>\n", kLeft, y, kWidth - kRight, y,
                  i == 0 ? "axis" : "grid");
    svg += format("<text x='%d' y='%d' text-anchor='end'>%s</text>\n", kLeft - 8, y + 4, label(most * i / 4).c_str());
  }
  const double step = round_up(span_days / 8);
  for (double day = 0; day <= span_days; day += step) {
    const double x = kLeft + width * day / span_days;
    svg += format("<line x1='%.1f' y1='%d' x2='%.1f' y2='%d' class='axis'/>\n", x, top + height, x, top + height + 5);
    svg += format("<text x='%.1f' y='%d' text-anchor='middle'>%s</text>\n", x, top + height + 19, label(day).c_str());
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    svg += "<polyline fill='none' " + stroke(i, lines.size()) + " points='";
    for (std::size_t bin = 0; bin < lines[i].size(); ++bin) {
      svg += format("%.1f,%.1f ", kLeft + width * (static_cast<double>(bin) + 0.5) / static_cast<double>(kBins),
                    top + height - height * std::min(lines[i][bin] / most, 1.0));
    }
    svg += "'/>\n";
  }
}

}  // namespace

std::string replay_svg(std::span<const ReplayReport> reports) {
  double span_s = 1;
  for (const auto& report : reports) span_s = std::max(span_s, static_cast<double>(report.makespan_s));
  // The legend takes as many rows as it needs.
  std::string legend;
  int x = kLeft, legend_y = 20;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    const int width = 30 + svg_text_width(reports[i].policy) + 24;
    if (x > kLeft && x + width > kWidth - kRight) {
      x = kLeft;
      legend_y += 20;
    }
    legend += format("<line x1='%d' y1='%d' x2='%d' y2='%d' ", x, legend_y, x + 24, legend_y) +
              stroke(i, reports.size()) + "/>\n";
    legend += format("<text x='%d' y='%d'>", x + 30, legend_y + 4) + svg_escaped(reports[i].policy) + "</text>\n";
    x += width;
  }
  const int panels = kTop + legend_y - 20;
  const int height = panels + 4 * (kPanel + kGap) + 12;
  std::string svg = svg_head(kWidth, height) + legend;
  const auto lines = [&](auto value) {
    std::vector<std::vector<double>> all;
    for (const auto& report : reports) {
      all.push_back(binned(report.samples, span_s, [&](const ReplaySample& sample) { return value(report, sample); }));
    }
    return all;
  };
  const auto most = [](const std::vector<std::vector<double>>& all) {
    double top = 0;
    for (const auto& line : all) top = std::max(top, *std::ranges::max_element(line));
    return round_up(top);
  };
  const auto used = lines([](const ReplayReport& report, const ReplaySample& sample) {
    return 100.0 * static_cast<double>(sample.used) /
           static_cast<double>(std::max<std::uint64_t>(1, report.total_gpus));
  });
  const auto queued = lines([](const ReplayReport&, const ReplaySample& s) { return static_cast<double>(s.queued); });
  const auto stranded =
      lines([](const ReplayReport&, const ReplaySample& s) { return static_cast<double>(s.stranded); });
  const auto slowed = lines([](const ReplayReport&, const ReplaySample& s) { return 100 * (s.slowdown - 1); });
  const double days = span_s / 86'400;
  panel(svg, panels, "GPUs in use, % of all", used, 100, days);
  panel(svg, panels + kPanel + kGap, "Jobs waiting", queued, most(queued), days);
  panel(svg, panels + 2 * (kPanel + kGap), "Stranded GPUs: free, but usable by no waiting job", stranded,
        most(stranded), days);
  panel(svg, panels + 3 * (kPanel + kGap),
        "Slowdown of communication by contention, %, mean of jobs of more than one node", slowed, most(slowed), days);
  svg += format("<text x='%d' y='%d' text-anchor='end'>days since the first job</text>\n", kWidth - kRight, height - 4);
  return svg + "</svg>\n";
}

}  // namespace railweave::cli
