// OpenSM's own headers, which are C and use C++ keywords as names. The library headers that they include come first, so
// that these do not see the renaming.
#pragma once

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/types.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#define delete delete_plugin
#define class class_
extern "C" {
#include <opensm/osm_config.h>
#include <opensm/osm_version.h>
// OpenSM was built with what osm_config.h says; its structures depend on it.
#include <opensm/osm_event_plugin.h>
#include <opensm/osm_log.h>
#include <opensm/osm_node.h>
#include <opensm/osm_opensm.h>
#include <opensm/osm_port.h>
#include <opensm/osm_sm.h>
#include <opensm/osm_subnet.h>
#include <opensm/osm_switch.h>
}
#undef delete
#undef class

#if OSM_EVENT_PLUGIN_INTERFACE_VER != 2
#error "The plugin is written for version 2 of OpenSM's plugin interface."
#endif
