#include "services/railweave/lab/plan/plan_svg.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

#include "services/railweave/terminal/svg.h"

namespace railweave::cli {
namespace {

constexpr int kWidth = 900, kHeight = 560, kLeft = 90, kRight = 40, kTop = 60, kBottom = 60;
constexpr int kTicks = 5;
constexpr double kMillion = 1e6, kMilli = 1e3, kMargin = 0.06;

template <class... Values>
std::string format(const char* pattern, Values... values) {
  char text[512];
  std::snprintf(text, sizeof text, pattern, values...);
  return text;
}

struct Axis {
  double least = std::numeric_limits<double>::max(), most = 0;
  void hold(double value) {
    least = std::min(least, value);
    most = std::max(most, value);
  }
  void widen() {
    const double margin = std::max((most - least) * kMargin, most * kMargin / 10);
    least = std::max(0.0, least - margin);
    most += margin;
  }
  [[nodiscard]] double share(double value) const { return most > least ? (value - least) / (most - least) : 0.5; }
};

struct Frame {
  Axis cost, step;
  [[nodiscard]] double x(const PlannedFabric& one) const {
    return kLeft + cost.share(one.network_cost) * (kWidth - kLeft - kRight);
  }
  [[nodiscard]] double y(const PlannedFabric& one) const {
    return kHeight - kBottom - step.share(one.step_us) * (kHeight - kTop - kBottom);
  }
};

// Round numbers between both ends of an axis, which counts in `unit`: about kTicks of them.
std::vector<double> ticks(const Axis& axis, double unit) {
  const double rough = std::max(axis.most - axis.least, axis.most * kMargin) / unit / kTicks;
  const double decade = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * decade;
  for (const double times : {5, 2, 1}) {
    if (times * decade >= rough) step = times * decade;
  }
  std::vector<double> values;
  for (double n = std::ceil(axis.least / unit / step); n * step <= axis.most / unit; ++n) {
    values.push_back(n * step * unit);
  }
  return values;
}

std::string axes(const Frame& frame) {
  std::string svg;
  for (const double value : ticks(frame.step, kMilli)) {
    const double y = kHeight - kBottom - frame.step.share(value) * (kHeight - kTop - kBottom);
    svg += format("<line class='grid' x1='%d' y1='%.1f' x2='%d' y2='%.1f'/>\n", kLeft, y, kWidth - kRight, y);
    svg +=
        format("<text class='note' x='%d' y='%.1f' text-anchor='end'>%.6g</text>\n", kLeft - 8, y + 4, value / kMilli);
  }
  for (const double value : ticks(frame.cost, kMillion)) {
    const double x = kLeft + frame.cost.share(value) * (kWidth - kLeft - kRight);
    svg += format("<line class='grid' x1='%.1f' y1='%d' x2='%.1f' y2='%d'/>\n", x, kTop, x, kHeight - kBottom);
    svg += format("<text class='note' x='%.1f' y='%d' text-anchor='middle'>%.6g</text>\n", x, kHeight - kBottom + 20,
                  value / kMillion);
  }
  svg += format("<text class='title' x='%d' y='30'>Cost of the network, and a step of the job on it</text>\n", kLeft);
  svg += format(
      "<text class='note' x='%d' y='48'>upwards: ms a step; to the right: cost of the network, in millions</text>\n",
      kLeft);
  svg += format(
      "<text class='note' x='%d' y='%d'>each dot is a fabric; on the line are those than which none is both cheaper "
      "and faster; the large dot is the one whose steps cost least</text>\n",
      kLeft, kHeight - 16);
  return svg;
}

// Those that no other one beats in both, by cost.
std::vector<const PlannedFabric*> best_of(const std::vector<PlannedFabric>& fabrics) {
  std::vector<const PlannedFabric*> sorted;
  sorted.reserve(fabrics.size());
  for (const auto& one : fabrics) sorted.push_back(&one);
  std::ranges::sort(sorted, [](const auto* a, const auto* b) {
    return a->network_cost != b->network_cost ? a->network_cost < b->network_cost : a->step_us < b->step_us;
  });
  std::vector<const PlannedFabric*> best;
  for (const auto* one : sorted) {
    if (best.empty() || one->step_us < best.back()->step_us) best.push_back(one);
  }
  return best;
}

}  // namespace

std::string plan_svg(const std::vector<PlannedFabric>& fabrics, std::size_t chosen) {
  Frame frame;
  for (const auto& one : fabrics) {
    frame.cost.hold(one.network_cost);
    frame.step.hold(one.step_us);
  }
  frame.cost.widen();
  frame.step.widen();
  std::string svg = svg_head(kWidth, kHeight,
                             ".best{fill:none;stroke:#0072b2;stroke-width:2} .dot{fill:#56b4e9} .chosen{fill:#d55e00}");
  svg += axes(frame);
  std::string line;
  for (const auto* one : best_of(fabrics)) line += format("%.1f,%.1f ", frame.x(*one), frame.y(*one));
  svg += "<polyline class='best' points='" + line + "'/>\n";
  for (std::size_t i = 0; i < fabrics.size(); ++i) {
    const auto& one = fabrics[i];
    svg += format("<circle class='%s' cx='%.1f' cy='%.1f' r='%d'>", i == chosen ? "chosen" : "dot", frame.x(one),
                  frame.y(one), i == chosen ? 8 : 5);
    svg += "<title>" + svg_escaped(one.shape.name()) + "</title></circle>\n";
  }
  const auto& best = fabrics[chosen];
  const bool right = frame.x(best) > kWidth / 2.0;
  svg += format("<text class='note' x='%.1f' y='%.1f' text-anchor='%s'>", frame.x(best) + (right ? -12 : 12),
                frame.y(best) - 10, right ? "end" : "start");
  return svg + svg_escaped(best.shape.name()) + "</text>\n</svg>\n";
}

}  // namespace railweave::cli
