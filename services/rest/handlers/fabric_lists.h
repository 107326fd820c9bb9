// The lists of the fabric's things, page by page, with their filters.
#pragma once

#include <string>

#include "api/http/dispatch/responder.h"
#include "api/http/message/request.h"
#include "fabric/topology/topology.h"
#include "services/rest/control_plane.h"

namespace railweave::api {

void list_nodes(const ControlPlane& plane, const Request& request, const Responder& respond);  // ?rack= ?kind= ?name=
void list_switches(const ControlPlane& plane, const Request& request, const Responder& respond);  // ?tier= ?subnet=
void list_links(const ControlPlane& plane, const Request& request, const Responder& respond);  // ?kind= ?switch= ?node=
void list_nvlink_domains(const ControlPlane& plane, const Request& request, const Responder& respond);
void list_rails(const ControlPlane& plane, const Request& request, const Responder& respond);
void list_racks(const ControlPlane& plane, const Request& request, const Responder& respond);

// By name, GUID (0x allowed) or "lid:1380" where that LID is unambiguous.
fabric::SwitchId find_switch(const fabric::Topology& topology, const std::string& text);

}  // namespace railweave::api
