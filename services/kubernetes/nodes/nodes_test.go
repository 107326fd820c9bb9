package nodes

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"railweave.dev/kubernetes/contract"
)

// Drains and cordons over random histories: what a person did is never undone, nothing goes back and forth, and both sides agree in
// the end.
func TestDrainsAndCordonsOverHistories(t *testing.T) {
	const lost, calm = 30 * time.Second, time.Minute
	for seed := range uint64(400) {
		random := rand.New(rand.NewPCG(seed, 7))
		pair := Pair{Name: "n"}
		personCordons, personDrains, bad := false, false, false
		var badFor, calmFor time.Duration
		changes := 0
		for step := range 200 {
			if step < 60 && random.IntN(8) == 0 {
				switch random.IntN(3) {
				case 0:
					// A cordon on top of the controller's cannot be told from it.
					if pair.Cordoned {
						pair.Cordoned, personCordons = false, false
					} else if pair.CordonedFor == "" {
						pair.Cordoned, personCordons = true, true
					}
				case 1:
					personDrains = !personDrains
					pair.Drained, pair.Reason = personDrains, "by hand"
				case 2:
					bad = !bad
				}
			}
			const tick = 10 * time.Second
			pair.NotReady, pair.NotReadyFor = "", 0
			if bad {
				badFor += tick
				pair.NotReady, pair.NotReadyFor = "gone", badFor
			} else {
				badFor = 0
			}
			if pair.Calm(lost) {
				calmFor += tick
			} else {
				calmFor = 0
			}
			pair.CalmFor = calmFor
			done := Decide(pair, lost, calm)
			if done.Undrain != "" && pair.Reason == "by hand" {
				t.Fatalf("seed %d: a person's drain is undone", seed)
			}
			if done.Uncordon && pair.CordonedFor == "" {
				t.Fatalf("seed %d: a person's cordon is undone", seed)
			}
			if done.Undrain != "" && calmFor < calm || done.Uncordon && calmFor < calm {
				t.Fatalf("seed %d: undone after %s", seed, calmFor)
			}
			apply(&pair, done)
			if step >= 100 && done != (Step{}) {
				changes++
			}
		}
		if changes > 0 {
			t.Fatalf("seed %d: %d changes after all was quiet", seed, changes)
		}
		keptOut := personCordons || personDrains || bad
		if keptOut != pair.Drained {
			t.Fatalf("seed %d: cordoned by a person %t, drained by one %t, not ready %t, and drained: %t (%s)", seed, personCordons, personDrains, bad, pair.Drained, pair.Reason)
		}
		if personDrains && pair.Reason == "by hand" && !pair.Cordoned && pair.CordonedFor == "" {
			t.Fatalf("seed %d: drained by a person, and not cordoned", seed)
		}
	}
}

func apply(pair *Pair, done Step) {
	if done.Drain != "" {
		pair.Drained, pair.Reason = true, done.Drain
	}
	if done.Undrain != "" {
		pair.Drained, pair.Reason = false, ""
	}
	if done.Cordon != "" {
		pair.Cordoned, pair.CordonedFor = true, done.Cordon
	}
	if done.Uncordon {
		pair.Cordoned = false
	}
	if done.Uncordon || done.Forget {
		pair.CordonedFor = ""
	}
}

func TestLabelsOfOthersStay(t *testing.T) {
	changed := Relabel(map[string]string{"a": "theirs", "b": "old", "c": "ours"}, "b c", map[string]string{"a": "1", "b": "2", "d": "3"})
	if fmt.Sprint(changed.Set) != "map[b:2 d:3]" || fmt.Sprint(changed.Remove) != "[c]" || changed.Written != "b d" {
		t.Errorf("%+v", changed)
	}
	if again := Relabel(map[string]string{"a": "theirs", "b": "2", "d": "3"}, "b d", map[string]string{"a": "1", "b": "2", "d": "3"}); again.Changes("b d") {
		t.Errorf("it is written again: %+v", again)
	}
}

func TestLabelValues(t *testing.T) {
	valid := regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$`)
	seen := map[string]string{}
	for _, text := range []string{"leaf-1", "leaf 1", "leaf/1", "_x_", "x", "", "ü", "a very long name of a switch in the third row of the second hall, upper shelf",
		"a very long name of a switch in the third row of the second hall, lower shelf"} {
		value := labelValue(text)
		if value != "" && !valid.MatchString(value) {
			t.Errorf("%q becomes %q, which is no label", text, value)
		}
		if other, found := seen[value]; found {
			t.Errorf("%q and %q become %q", text, other, value)
		}
		seen[value] = text
	}
}

// Tiers of two pods of two leaves each, and of a host that hangs on its own switch.
func TestTiers(t *testing.T) {
	fabric := &contract.Fabric{Subnets: []contract.FabricSubnet{{Name: "c", Kind: "compute"}, {Name: "s", Kind: "storage"}}}
	for i := range 6 {
		fabric.Switches = append(fabric.Switches, contract.FabricSwitch{Name: fmt.Sprintf("leaf-%d", i), Subnet: "c"})
	}
	fabric.Switches = append(fabric.Switches, contract.FabricSwitch{Name: "spine-a", Subnet: "c"}, contract.FabricSwitch{Name: "spine-b", Subnet: "c"},
		contract.FabricSwitch{Name: "store", Subnet: "s"})
	for i := range 5 {
		fabric.Hosts = append(fabric.Hosts, contract.FabricHost{Name: fmt.Sprintf("h%d", i), Adapters: []contract.FabricAdapter{{}, {}}, Gpus: []contract.FabricGpu{{Domain: fmt.Sprintf("d%d", i/2)}}})
		first := len(fabric.Switches) + 2*i
		fabric.Links = append(fabric.Links, []int{first, 1, i, 1}, []int{first + 1, 1, 8, 1})
	}
	for leaf, spine := range []int{6, 6, 7, 7} {
		fabric.Links = append(fabric.Links, []int{leaf, 9, spine, leaf})
	}
	labels := Topology(fabric)
	if len(labels) != 5 {
		t.Fatal(labels)
	}
	for host, want := range map[string]string{"h0": "leaf-0 spine-a", "h1": "leaf-1 spine-a", "h2": "leaf-2 spine-b", "h3": "leaf-3 spine-b", "h4": "leaf-4 leaf-4"} {
		if got := labels[host][TierLabel+"0"] + " " + labels[host][TierLabel+"1"]; got != want {
			t.Errorf("%s has %q instead of %q", host, got, want)
		}
	}
	if labels["h0"][DomainLabel] != "d0" || labels["h1"][DomainLabel] != "d0" || labels["h4"][DomainLabel] != "" {
		t.Errorf("domains of several nodes are labelled, and no others: %v", labels)
	}
}

// Groups of a fabric of random leaves and spines: each node is in one group of tier 1, each group in one of the tier above, and two nodes
// are in one group exactly where their labels say so.
func TestHyperNodesAreATree(t *testing.T) {
	for seed := range uint64(100) {
		random := rand.New(rand.NewPCG(seed, 11))
		fabric := &contract.Fabric{Subnets: []contract.FabricSubnet{{Name: "c", Kind: "compute"}}}
		leaves, spines, hosts := 1+random.IntN(8), 1+random.IntN(4), 1+random.IntN(20)
		for i := range leaves + spines {
			fabric.Switches = append(fabric.Switches, contract.FabricSwitch{Name: fmt.Sprintf("Switch %d", i), Subnet: "c"})
		}
		present := map[string]bool{}
		for i := range hosts {
			name := fmt.Sprintf("h%d", i)
			fabric.Hosts = append(fabric.Hosts, contract.FabricHost{Name: name, Adapters: []contract.FabricAdapter{{}}, Gpus: []contract.FabricGpu{{}}})
			fabric.Links = append(fabric.Links, []int{leaves + spines + i, 1, random.IntN(leaves), i})
			present[name] = random.IntN(10) > 0
		}
		for leaf := range leaves {
			fabric.Links = append(fabric.Links, []int{leaf, 99, leaves + random.IntN(spines), leaf})
		}
		checkTree(t, seed, fabric, present)
	}
}

func checkTree(t *testing.T, seed uint64, fabric *contract.Fabric, present map[string]bool) {
	t.Helper()
	parent := map[string]string{}
	tiers := map[string]int{}
	for _, one := range HyperNodes(fabric, present) {
		tiers[one.Name] = one.Tier
		for _, member := range one.Members {
			if parent[member] != "" || one.Nodes != (one.Tier == 1) || !one.Nodes && tiers[member] != one.Tier-1 {
				t.Fatalf("seed %d: %s of %s and %s, tier %d", seed, member, parent[member], one.Name, one.Tier)
			}
			parent[member] = one.Name
		}
	}
	labels := Topology(fabric)
	for a := range present {
		if present[a] != (parent[a] != "") {
			t.Fatalf("seed %d: node %s, present %t, is in %q", seed, a, present[a], parent[a])
		}
		for b := range present {
			if !present[a] || !present[b] {
				continue
			}
			if (parent[a] == parent[b]) != (labels[a][TierLabel+"0"] == labels[b][TierLabel+"0"]) {
				t.Fatalf("seed %d: %s and %s", seed, a, b)
			}
		}
	}
}

// Taints that a kubelet or the API server set for pressure keep pods off as those of a person do; that a node is not ready, or cordoned, is told by the
// node itself.
func TestTaintsThatKeepPodsOff(t *testing.T) {
	of := func(key string, effect corev1.TaintEffect) *corev1.Node {
		return &corev1.Node{Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: key, Value: "x", Effect: effect}}}}
	}
	seconds := int64(300)
	pod := &corev1.Pod{Spec: corev1.PodSpec{Tolerations: []corev1.Toleration{{Key: "reserved", Operator: corev1.TolerationOpExists},
		{Key: "for-a-while", Operator: corev1.TolerationOpExists, TolerationSeconds: &seconds}}}}
	for _, one := range []struct {
		node *corev1.Node
		off  bool
	}{
		{of("fault", corev1.TaintEffectNoExecute), true}, {of("fault", corev1.TaintEffectNoSchedule), true}, {of("fault", corev1.TaintEffectPreferNoSchedule), false},
		{of("reserved", corev1.TaintEffectNoExecute), false}, {of("for-a-while", corev1.TaintEffectNoExecute), true}, {of(corev1.TaintNodeDiskPressure, corev1.TaintEffectNoSchedule), true},
		{of(corev1.TaintNodeUnschedulable, corev1.TaintEffectNoSchedule), false}, {of(corev1.TaintNodeNotReady, corev1.TaintEffectNoExecute), false},
	} {
		if (Untolerated(pod, one.node) != "") != one.off {
			t.Errorf("%v: %q", one.node.Spec.Taints, Untolerated(pod, one.node))
		}
	}
}
