// Writes the Prometheus text format, version 0.0.4: families with HELP and TYPE, samples, histograms. Knows no metric.
// Source: prometheus.io/docs/instrumenting/exposition_formats.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace railweave::api {

class PrometheusText {
 public:
  static constexpr std::string_view kContentType = "text/plain; version=0.0.4; charset=utf-8";

  enum class Type { counter, gauge, histogram };
  using Label = std::pair<std::string_view, std::string_view>;  // name, value (any bytes: escaped here)
  using Labels = std::initializer_list<Label>;

  // Starts a family; its samples follow. Names and label names are ours, so a bad one is a bug.
  void family(std::string_view name, Type type, std::string_view help);

  void sample(Labels labels, double value);
  void sample(Labels labels, std::uint64_t value);

  // `counts` holds one number per bound and one for what is above the last bound; not cumulative, as counted.
  void histogram(Labels labels, std::span<const double> bounds, std::span<const std::uint64_t> counts, double sum);

  // A family with a single sample without labels.
  void single(std::string_view name, Type type, std::string_view help, double value);
  void single(std::string_view name, Type type, std::string_view help, std::uint64_t value);

  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  void begin_sample(std::string_view suffix, Labels labels, std::string_view bound);

  std::string text_;
  std::string name_;
};

}  // namespace railweave::api
