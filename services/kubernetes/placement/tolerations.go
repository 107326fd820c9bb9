package placement

import (
	"slices"
	"sort"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"railweave.dev/kubernetes/contract"
)

// TaintPrefix is what labels of Railweave's nodes begin with that are taints.
const TaintPrefix = "taint/"

// MaxTolerations is how many of them a request may have.
const MaxTolerations = 16

// MaxTolerationKey is how long their keys may be; Kubernetes has longer ones.
const MaxTolerationKey = 253

// Tolerations is what Railweave's taints a pod tolerates: by its own keys, also those that no node has yet, and without a key all that these
// nodes have now. Railweave's taints keep away what is new, as NoSchedule does. What is for a while only does not count. Those that
// nodes have come first, where there are more than a request may have.
func Tolerations(pod *corev1.Pod, known map[string]contract.NodeLine) []contract.Toleration {
	carried, keys := map[string]bool{}, map[string]bool{} // by key and value, and by key
	for _, line := range known {
		for label, value := range line.Labels {
			if key, is := strings.CutPrefix(label, TaintPrefix); is {
				carried[key+"="+value], keys[key] = true, true
			}
		}
	}
	wanted := map[string]contract.Toleration{}
	for i := range pod.Spec.Tolerations {
		toleration := &pod.Spec.Tolerations[i]
		if toleration.TolerationSeconds != nil || len(toleration.Key) > MaxTolerationKey || toleration.Effect != "" && toleration.Effect != corev1.TaintEffectNoSchedule {
			continue
		}
		switch {
		case toleration.Operator == corev1.TolerationOpExists && toleration.Key != "":
			wanted[toleration.Key] = contract.Toleration{Key: toleration.Key}
		case toleration.Operator == corev1.TolerationOpExists:
			for key := range keys {
				wanted[key] = contract.Toleration{Key: key}
			}
		case (toleration.Operator == "" || toleration.Operator == corev1.TolerationOpEqual) && toleration.Key != "":
			value := toleration.Value
			wanted[toleration.Key+"="+value] = contract.Toleration{Key: toleration.Key, Value: &value}
		}
	}
	var order []string
	for name, toleration := range wanted {
		if _, all := wanted[toleration.Key]; all && toleration.Value != nil {
			continue // every value is tolerated
		}
		order = append(order, name)
	}
	matters := func(name string) bool { return carried[name] || wanted[name].Value == nil && keys[name] }
	sort.Slice(order, func(a, b int) bool {
		if first, second := matters(order[a]), matters(order[b]); first != second {
			return first
		}
		return order[a] < order[b]
	})
	var tolerations []contract.Toleration
	for _, name := range order[:min(len(order), MaxTolerations)] {
		tolerations = append(tolerations, wanted[name])
	}
	return tolerations
}

// Repels says that one of these labels is a taint that none of the tolerations is for.
func Repels(labels map[string]string, tolerations []contract.Toleration) bool {
	for label, value := range labels {
		key, is := strings.CutPrefix(label, TaintPrefix)
		if is && !slices.ContainsFunc(tolerations, func(one contract.Toleration) bool {
			return one.Key == key && (one.Value == nil || *one.Value == value)
		}) {
			return true
		}
	}
	return false
}
