// What Prometheus' client libraries tell of every process, under their names (process_cpu_seconds_total and others), so that rules and
// dashboards written for any program fit this one. Read from /proc.
#pragma once

#include "api/http/message/prometheus_text.h"

namespace railweave::api {

void render_process(PrometheusText& text);

}  // namespace railweave::api
