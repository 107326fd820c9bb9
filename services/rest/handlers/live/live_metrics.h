// Metrics of the live fabric for Prometheus.
#pragma once

#include "api/http/message/prometheus_text.h"
#include "services/rest/control_plane.h"

namespace railweave::api {

// Metrics per subnet, and totals of drains and alarms: few series however large the fabric is.
void render_live(const ControlPlane& plane, PrometheusText& text);

// Bytes and utilisation of every port of a link whose counters are read, both ends. At most kMaxMetricLinks links;
// railweave_links_left_out counts the others.
inline constexpr std::size_t kMaxMetricLinks = 10'000;
void render_links(const ControlPlane& plane, PrometheusText& text);

}  // namespace railweave::api
