// Small inputs of every kind that a site has, written for these tests: two hosts under each of two leaves, one spine.
#pragma once

#include <map>
#include <string>

namespace railweave::fabric {

using Samples = std::map<std::string, std::string>;

// Dumps of InfiniBand cables.
inline void add_cable_samples(Samples& samples) {
  samples["links.txt"] = R"(CA: n1 mlx5_0:
      0x00000000000000a1     11    1[  ] ==( 4X      106.25 Gbps Active/  LinkUp)==>       1    1[  ] "leaf-1" ( )
CA: n2 mlx5_0:
      0x00000000000000a2     12    1[  ] ==( 4X      106.25 Gbps Active/  LinkUp)==>       1    2[  ] "leaf-1" ( )
CA: n3 mlx5_0:
      0x00000000000000a3     13    1[  ] ==( 4X      106.25 Gbps Active/  LinkUp)==>       2    1[  ] "leaf-2" ( )
CA: n4 mlx5_0:
      0x00000000000000a4     14    1[  ] ==( 4X      106.25 Gbps Active/  LinkUp)==>       2    2[  ] "leaf-2" ( )
Switch: 0x0000000000000001 leaf-1:
           1    1[  ] ==( 4X      106.25 Gbps Active/  LinkUp)==>      11    1[  ] "n1 mlx5_0" ( )
           1    2[  ] ==( 4X      106.25 Gbps Active/  LinkUp)==>      12    1[  ] "n2 mlx5_0" ( )
           1    3[  ] ==( 4X      106.25 Gbps Active/  LinkUp)==>       3    1[  ] "spine" ( )
           1    4[  ] ==(                Down/ Polling)==>             [  ] "" ( )
Switch: 0x0000000000000002 leaf-2:
           2    1[  ] ==( 4X      106.25 Gbps Active/  LinkUp)==>      13    1[  ] "n3 mlx5_0" ( )
           2    2[  ] ==( 4X      106.25 Gbps Active/  LinkUp)==>      14    1[  ] "n4 mlx5_0" ( )
           2    3[  ] ==( 4X      106.25 Gbps Active/  LinkUp)==>       3    2[  ] "spine" ( )
Switch: 0x0000000000000003 spine:
           3    1[  ] ==( 4X      106.25 Gbps Active/  LinkUp)==>       1    3[  ] "leaf-1" ( )
           3    2[  ] ==( 4X      106.25 Gbps Active/  LinkUp)==>       2    3[  ] "leaf-2" ( )
)";
  samples["ibdiagnet2.db_csv"] = R"(START_NODES
NodeDesc,NumPorts,NodeType,ClassVersion,BaseVersion,SystemImageGUID,NodeGUID,PortGUID
"leaf-1",4,2,1,1,0x1,0x1,0x1
"leaf-2",4,2,1,1,0x2,0x2,0x2
"spine",4,2,1,1,0x3,0x3,0x3
"n1 mlx5_0",1,1,1,1,0xa1,0xa1,0xa1
"n2 mlx5_0",1,1,1,1,0xa2,0xa2,0xa2
"n3 mlx5_0",1,1,1,1,0xa3,0xa3,0xa3
"n4 mlx5_0",1,1,1,1,0xa4,0xa4,0xa4
END_NODES

START_PORTS
NodeGuid,PortGuid,PortNum,LID,LinkWidthActv,LinkSpeedActv,LMC
0x1,0x1,0,1,0,0,0
0x2,0x2,0,2,0,0,0
0x3,0x3,0,3,0,0,0
0x1,0x1,1,1,2,2048,0
0x1,0x1,2,1,2,2048,0
0x1,0x1,3,1,2,2048,0
0x2,0x2,1,2,2,2048,0
0x2,0x2,2,2,2,2048,0
0x2,0x2,3,2,2,2048,0
0x3,0x3,1,3,2,2048,0
0x3,0x3,2,3,2,2048,0
0xa1,0xa1,1,11,2,2048,0
0xa2,0xa2,1,12,2,2048,0
0xa3,0xa3,1,13,2,2048,0
0xa4,0xa4,1,14,2,2048,0
END_PORTS

START_LINKS
NodeGuid1,PortNum1,NodeGuid2,PortNum2
0x1,1,0xa1,1
0x1,2,0xa2,1
0x2,1,0xa3,1
0x2,2,0xa4,1
0x1,3,0x3,1
0x2,3,0x3,2
END_LINKS
)";
}

inline void add_opensm_sample(Samples& samples) {
  const auto line = [](const std::string& a, const std::string& b) {
    return "{ " + a + " } { " + b + " } PHY=4x LOG=ACT SPD=100\n";
  };
  const auto end = [](const char* kind, const char* guid, const char* name, const char* lid, const char* port) {
    const std::string g(guid);
    return std::string(kind) + " SystemGUID:" + g + " NodeGUID:" + g + " PortGUID:" + g +
           " VenID:000002C9 DevID:00000000 Rev:00000000 {" + name + "} LID:" + lid + " PN:" + port;
  };
  const char *sw = "SW Ports:04", *ca = "CA Ports:01";
  samples["opensm-subnet.lst"] =
      line(end(ca, "00000000000000a1", "n1 mlx5_0", "000B", "01"),
           end(sw, "0000000000000001", "leaf-1", "0001", "01")) +
      line(end(ca, "00000000000000a2", "n2 mlx5_0", "000C", "01"),
           end(sw, "0000000000000001", "leaf-1", "0001", "02")) +
      line(end(ca, "00000000000000a3", "n3 mlx5_0", "000D", "01"),
           end(sw, "0000000000000002", "leaf-2", "0002", "01")) +
      line(end(ca, "00000000000000a4", "n4 mlx5_0", "000E", "01"),
           end(sw, "0000000000000002", "leaf-2", "0002", "02")) +
      line(end(sw, "0000000000000001", "leaf-1", "0001", "03"), end(sw, "0000000000000003", "spine", "0003", "01")) +
      line(end(sw, "0000000000000002", "leaf-2", "0002", "03"), end(sw, "0000000000000003", "spine", "0003", "02"));
}

// As UFM's REST API answers; a switch's description is its system's name and a port.
inline void add_ufm_sample(Samples& samples) {
  const auto port = [](const std::string& guid, int number, const std::string& system, const std::string& node, int lid,
                       const std::string& peer, bool up = true) {
    const bool of_switch = node.find(':') != std::string::npos;
    return R"({"description":")" + std::string(of_switch ? "Switch IB Port" : "Computer IB Port") + R"(","number":)" +
           std::to_string(number) + R"(,"physical_state":")" + (up ? "Link Up" : "Polling") + R"(","lid":)" +
           std::to_string(lid) + R"(,"logical_state":")" + (up ? "Active" : "Down") +
           R"(","mtu":4096,"peer_port_dname":")" + (up ? "1" : "N/A") + R"(","active_speed":)" +
           (up ? "\"NDR\"" : "null") + R"(,"enabled_speed":[],"active_width":)" + (up ? "\"4x\"" : "null") +
           R"(,"dname":"1/)" + std::to_string(number) + R"(","peer":")" + peer + R"(","systemID":")" + guid +
           R"(","node_description":")" + node + R"(","name":")" + guid + "_" + std::to_string(number) +
           R"(","guid":")" + guid + R"(","system_name":")" + system + R"("})";
  };
  const std::string leaf1 = "0000000000000001", leaf2 = "0000000000000002", spine = "0000000000000003",
                    ca = "00000000000000a";
  samples["ports.json"] = "[" + port(ca + "1", 1, "n1", "n1 mlx5_0", 11, leaf1 + "_1") + ",\n" +
                          port(ca + "2", 1, "n2", "n2 mlx5_0", 12, leaf1 + "_2") + ",\n" +
                          port(ca + "3", 1, "n3", "n3 mlx5_0", 13, leaf2 + "_1") + ",\n" +
                          port(ca + "4", 1, "n4", "n4 mlx5_0", 14, leaf2 + "_2") + ",\n" +
                          port(leaf1, 1, "leaf-1", "leaf-1:1", 1, ca + "1_1") + ",\n" +
                          port(leaf1, 2, "leaf-1", "leaf-1:2", 1, ca + "2_1") + ",\n" +
                          port(leaf1, 3, "leaf-1", "leaf-1:3", 1, spine + "_1") + ",\n" +
                          port(leaf1, 4, "leaf-1", "leaf-1:4", 1, "N/A", false) + ",\n" +
                          port(leaf2, 1, "leaf-2", "leaf-2:1", 2, ca + "3_1") + ",\n" +
                          port(leaf2, 2, "leaf-2", "leaf-2:2", 2, ca + "4_1") + ",\n" +
                          port(leaf2, 3, "leaf-2", "leaf-2:3", 2, spine + "_2") + ",\n" +
                          port(spine, 1, "spine", "spine:1", 3, leaf1 + "_3") + ",\n" +
                          port(spine, 2, "spine", "spine:2", 3, leaf2 + "_3") + "]\n";
}

// UFM's links, systems and partitions of the same subnet; node n2 has a second adapter that no cable tells of.
inline void add_ufm_details(Samples& samples) {
  const auto link = [](const std::string& a, int a_port, const std::string& a_node, const std::string& b, int b_port,
                       const std::string& b_node) {
    const auto end = [](const std::string& side, const std::string& guid, int port, const std::string& node) {
      const bool of_switch = node.find(':') != std::string::npos;
      return "\"" + side + "_guid\":\"" + guid + "\",\"" + side + "_port\":\"" + std::to_string(port) + "\",\"" + side +
             "_port_dname\":\"" + (of_switch ? std::to_string(port) : "HCA-1/" + std::to_string(port)) + "\",\"" +
             side + "_port_node_description\":\"" + node + "\"";
    };
    return "{" + end("source", a, a_port, a_node) + "," + end("destination", b, b_port, b_node) +
           R"(,"width":"4x","severity":"Info","capabilities":[],"name":")" + a + "_" + std::to_string(a_port) + "\"}";
  };
  const std::string leaf1 = "0000000000000001", leaf2 = "0000000000000002", spine = "0000000000000003",
                    ca = "00000000000000a";
  samples["ufm-links.json"] = "[" + link(ca + "1", 1, "n1 mlx5_0", leaf1, 1, "leaf-1:1") + ",\n" +
                              link(leaf1, 2, "leaf-1:2", ca + "2", 1, "n2 mlx5_0") + ",\n" +
                              link(ca + "3", 1, "n3 mlx5_0", leaf2, 1, "leaf-2:1") + ",\n" +
                              link(ca + "4", 1, "n4 mlx5_0", leaf2, 2, "leaf-2:2") + ",\n" +
                              link(leaf1, 3, "leaf-1:3", spine, 1, "spine:1") + ",\n" +
                              link(leaf2, 3, "leaf-2:3", spine, 2, "spine:2") + "]\n";
  samples["systems.json"] =
      R"([{"system_name":"leaf-1","system_guid":"0000000000000001","guid":"0000000000000001","type":"switch","ports":[]},)"
      "\n"
      R"({"system_name":"leaf-9","system_guid":"0000000000000009","guid":"0000000000000009","type":"switch","ports":[]},)"
      R"({"system_name":"n1","guid":"00000000000000a1","type":"host","ports":["00000000000000a1_1"],"modules":[]},)"
      R"({"system_name":"n2","guid":"00000000000000a2","type":"host","ports":["00000000000000a2_1","00000000000000a4_1"]},)"
      R"({"system_name":"n8","guid":"00000000000000a8","type":"host","ports":[]},)"
      R"({"system_name":"ufm","guid":"00000000000000b8","type":"gateway","ports":[]}])"
      "\n";
  samples["pkeys.json"] =
      R"({"0x7fff":{"partition":"management","ip_over_ib":true,"guids":[]},"0x8012":{"partition":"tenant-a",)"
      "\n"
      R"("ip_over_ib":false,"guids":[{"guid":"00000000000000a1","membership":"full","index0":true},)"
      R"({"guid":"00000000000000a3","membership":"full","index0":false},{"guid":"00000000000000a9","membership":"full"},)"
      R"({"guid":"00000000000000a4","membership":"limited","index0":false}]},)"
      R"("0x13":{"partition":"tenant-b","ip_over_ib":true,"guids":[{"guid":"00000000000000a2","membership":"full"}]}})"
      "\n";
}

// What schedulers, switches and machines tell.
inline void add_host_samples(Samples& samples) {
  samples["topology.conf"] =
      "# racks\nSwitchName=leaf-1 Nodes=n[1-2]\nSwitchName=leaf-2 Nodes=n[3-4]\nSwitchName=top Switches=leaf-[1-2]\n";
  samples["topology.yaml"] =  // as JSON, as the caller makes it
      R"([{"topology":"t","cluster_default":true,"tree":{"switches":[{"switch":"leaf-1","nodes":"n[1-2]"},)"
      R"({"switch":"leaf-2","nodes":"n[3-4]"},{"switch":"top","children":"leaf-[1-2]"}]}}])";
  samples["nodes.json"] =
      R"x({"nodes":[{"architecture":"x86_64","gres":"gpu:h100:8(S:0-1)","name":"n1"},{"gres":"gpu:h100:8","name":"n2"},)x"
      R"x({"gres":"gpu:h100:4,gpu:a100:4","name":"n3"},{"gres":"","name":"n4"}],"last_update":{"set":true,"number":1}})x";
  samples["kubernetes.json"] =
      R"({"apiVersion":"v1","kind":"List","items":[)"
      R"({"kind":"Node","metadata":{"name":"n1","labels":{"fabric.topograph.run/tier-0":"leaf-1","fabric.topograph.run/tier-1":"top",)"
      R"("accelerator.topograph.run/domain":"nvl-1","nvidia.com/gpu.product":"NVIDIA-GB200"}},"status":{"capacity":{"nvidia.com/gpu":"4"}}},)"
      R"({"kind":"Node","metadata":{"name":"n2","labels":{"fabric.topograph.run/tier-0":"leaf-1","fabric.topograph.run/tier-1":"top",)"
      R"("accelerator.topograph.run/domain":"nvl-1"}},"status":{"capacity":{"nvidia.com/gpu":"4"}}},)"
      R"({"kind":"Node","metadata":{"name":"n3","labels":{"fabric.topograph.run/tier-0":"leaf-2","fabric.topograph.run/tier-1":"top"}},)"
      R"("status":{"capacity":{"nvidia.com/gpu":"4"}}}]})";
  samples["model.json"] =
      R"({"switches":{"top":{"switches":["leaf-1","leaf-2"]},"leaf-1":{"nodes":["n[1-2]"]}},)"
      R"("blocks":[{"switch":"leaf-2","nodes":["n[3-4]"],"labels":{"accelerated.topology.nvidia.com/level-0":"nvl-2"}}]})";
  samples["n1.lldp.json"] =
      R"({"lldp":{"interface":[{"eth0":{"chassis":{"leaf-1":{"capability":[{"type":"Bridge","enabled":true}]}},)"
      R"("port":{"id":{"type":"ifname","value":"Ethernet0"}}}},{"eth1":{"chassis":{"leaf-2":{"capability":)"
      R"({"type":"Bridge","enabled":true}}},"port":{"id":{"type":"local","value":"Ethernet0"}}}}]}})";
  samples["config_db.json"] =
      R"({"DEVICE_METADATA":{"localhost":{"hostname":"leaf-1"}},"PORT":{"Ethernet0":{"speed":"400000"},)"
      R"("Ethernet8":{"speed":"800000"}},"DEVICE_NEIGHBOR":{"Ethernet8":{"name":"spine","port":"Ethernet0"}},)"
      R"("DEVICE_NEIGHBOR_METADATA":{"spine":{"type":"SpineRouter"}}})";
  samples["leaves.gnmi.json"] =
      R"([{"source":"leaf-1:57400","timestamp":1764000000000000000,"updates":[{"Path":"lldp","values":{"lldp":)"
      R"({"openconfig-lldp:interfaces":{"interface":[{"name":"Ethernet0","neighbors":{"neighbor":[{"id":"1","state":)"
      R"({"system-name":"n1","port-id":"0c:42:a1:00:00:01","port-id-type":"MAC_ADDRESS","port-description":"eth0"}}]}},)"
      R"({"name":"Ethernet8","neighbors":{"neighbor":[{"state":{"system-name":"spine","port-id":"Ethernet0",)"
      R"("port-id-type":"INTERFACE_NAME"},"capabilities":{"capability":[{"name":"openconfig-lldp-types:MAC_BRIDGE",)"
      R"("state":{"enabled":true}}]}}]}}]}}}},{"Path":"interfaces","values":{"interfaces":{"openconfig-interfaces:)"
      R"(interface":[{"name":"Ethernet0","openconfig-if-ethernet:ethernet":{"state":{"port-speed":)"
      R"("openconfig-if-ethernet:SPEED_200GB"}}},{"name":"Ethernet8","openconfig-if-ethernet:ethernet":{"state":)"
      R"({"negotiated-port-speed":"SPEED_800GB"}}}]}}}]},{"source":"leaf-2:57400","updates":[{"values":{"lldp":)"
      R"({"openconfig-lldp:interfaces":{"interface":[{"name":"Ethernet0","neighbors":{"neighbor":[{"state":)"
      R"({"system-name":"n2","port-id":"eth0"}},{"state":{"chassis-id":"0c:42"}}]}}]}}}}]}])";
  samples["n2.xml"] =
      "<?xml version=\"1.0\" ?>\n<nvidia_smi_log><attached_gpus>2</attached_gpus>"
      "<gpu id=\"0\"><product_name>NVIDIA H100</product_name></gpu><gpu id=\"1\"><product_name>NVIDIA "
      "H100</product_name></gpu></nvidia_smi_log>\n";
}

// A tray of an NVLink domain as its driver and as the domain's controller tell it: one names its host, the other its partition.
inline std::string tray_query(const std::string& guid) {
  return "<?xml version=\"1.0\" ?>\n<nvidia_smi_log><gpu id=\"0\"><product_name>NVIDIA "
         "GB200</product_name><platformInfo>"
         "<chassis_serial_number>1821</chassis_serial_number><slot_number>13</slot_number><gpu_fabric_guid>" +
         guid + "</gpu_fabric_guid></platformInfo></gpu></nvidia_smi_log>\n";
}

// Of two GPUs of four links, one of which is down.
inline std::string nvlink_status(const std::string& last = "<inactive>") {
  std::string text;
  for (const char* gpu : {"0", "1"}) {
    text += "GPU " + std::string(gpu) + ": NVIDIA H100 80GB HBM3 (UUID: GPU-0b7d28a1-0000-0000-0000-00000000000" + gpu +
            ")\n";
    for (const char* link : {"0", "1", "2", "3"}) {
      const bool is_last = *gpu == '1' && *link == '3';
      text += "\t Link " + std::string(link) + ": " + (is_last ? last : "26.562 GB/s") + "\n";
    }
  }
  return text;
}

inline void add_nmx_sample(Samples& samples) {
  const auto gpu = [](const std::string& uid, int slot, const std::string& health, const std::string& partition) {
    return R"({"loc":{"chassisSerialNumber":"1821","trayIndex":1,"location":{"chassisId":"1","slotId":")" +
           std::to_string(slot) + R"(","hostId":"1"}},"gpuId":1,"gpuUid":")" + uid + R"(","gpuHealth":")" + health +
           R"(","partitionId":)" + partition + "}";
  };
  samples["nmx.json"] =
      R"({"serverHeader":{"domainUuid":"9f1c6d53-5d9f-4a0f-8f30-1a2b3c4d5e6f","appVer":"1.3.0","returnCode":"NMX_ST_SUCCESS"},)"
      R"("context":{},"gpuInfoList":[)" +
      gpu("161", 13, "NMX_GPU_HEALTH_HEALTHY", R"({"partitionId":32766})") + "," +
      gpu("162", 14, "NMX_GPU_HEALTH_HEALTHY", R"({"partitionId":32766})") + "," +
      gpu("163", 15, "NMX_GPU_HEALTH_HEALTHY", R"({"partitionId":7})") + "," +
      gpu("164", 16, "NMX_GPU_HEALTH_NO_NVLINK", R"({"partitionId":32766})") + "," +
      gpu("165", 17, "NMX_GPU_HEALTH_HEALTHY", "null") + "]}";
}

inline Samples site_samples() {
  Samples samples;
  add_cable_samples(samples);
  add_opensm_sample(samples);
  add_ufm_sample(samples);
  add_ufm_details(samples);
  add_host_samples(samples);
  add_nmx_sample(samples);
  samples["n3.nvlink"] = nvlink_status();
  return samples;
}

}  // namespace railweave::fabric
