package nodes

import (
	"sort"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"railweave.dev/kubernetes/contract"
	"railweave.dev/kubernetes/placement"
)

// MaxPreferences is how many of them a request may have.
const MaxPreferences = 16

// TaintWeight is what it is worth to keep off a node whose taint says PreferNoSchedule.
const TaintWeight = 50

// Preferences is what a pod would rather have of these nodes: its preferred node affinity, with its weights, and none of the taints that
// only advise and that it does not tolerate. What makes no difference between the nodes is left out, and so is what takes more names than a
// request may have.
func Preferences(pod *corev1.Pod, nodes []*corev1.Node) []contract.NodePreference {
	var preferences []contract.NodePreference
	add := func(weight int, matches func(*corev1.Node) bool, avoid bool) {
		var matching, others []string
		for _, node := range nodes {
			if matches(node) {
				matching = append(matching, node.Name)
			} else {
				others = append(others, node.Name)
			}
		}
		if len(matching) == 0 || len(others) == 0 || len(preferences) == MaxPreferences {
			return
		}
		names := matching
		if len(matching) > placement.MaxNodes {
			names, avoid = others, !avoid
		}
		if len(names) > placement.MaxNodes {
			return
		}
		sort.Strings(names)
		preferences = append(preferences, contract.NodePreference{Nodes: names, Weight: weight, Avoid: avoid})
	}
	if affinity := pod.Spec.Affinity; affinity != nil && affinity.NodeAffinity != nil {
		for _, term := range affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
			parsed, err := nodeaffinity.NewPreferredSchedulingTerms([]corev1.PreferredSchedulingTerm{term})
			if err != nil || term.Weight == 0 {
				continue // the API server refuses such terms
			}
			add(int(term.Weight), func(node *corev1.Node) bool { return parsed.Score(node) > 0 }, false)
		}
	}
	add(TaintWeight, func(node *corev1.Node) bool { return advised(pod, node) }, true)
	return preferences
}

// advised says that a taint of the node asks the pod to run elsewhere.
func advised(pod *corev1.Pod, node *corev1.Node) bool {
	for i := range node.Spec.Taints {
		taint := &node.Spec.Taints[i]
		if taint.Effect == corev1.TaintEffectPreferNoSchedule && !tolerated(pod, taint) {
			return true
		}
	}
	return false
}
