package nodes

import (
	"context"
	"slices"
	"sort"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"railweave.dev/kubernetes/contract"
	"railweave.dev/kubernetes/group"
	"railweave.dev/kubernetes/placement"
)

// Of is where that number of pods like this one may run: what their own selectors, affinity and tolerations allow, and what nodes offer.
// Cordons and failures are not among that where they are carried over as drains, because those hold for jobs that wait, too.
func (s *Syncer) Of(ctx context.Context, pod *corev1.Pod, demand *group.Demand, size int, without map[string]bool) (placement.Site, error) {
	var list corev1.NodeList
	if err := s.Client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return placement.Site{}, err
	}
	s.mutex.Lock()
	known := s.known
	s.mutex.Unlock()
	required := nodeaffinity.GetRequiredNodeAffinity(pod)
	var site placement.Site
	var matching []*corev1.Node
	present := map[string]bool{}
	for i := range list.Items {
		node := &list.Items[i]
		present[node.Name] = true
		matches, err := required.Match(node)
		if err == nil && matches && Untolerated(pod, node) == "" && !without[node.Name] && (s.Drains || !node.Spec.Unschedulable) {
			matching = append(matching, node)
		} else if known[node.Name].Gpus > 0 {
			site.Unusable = append(site.Unusable, node.Name)
		}
	}
	for name, line := range known {
		if !present[name] && line.Gpus > 0 {
			site.Unusable = append(site.Unusable, name)
		}
	}
	used, err := s.used(ctx)
	if err != nil {
		return placement.Site{}, err
	}
	site.Preferences, site.Tolerations = Preferences(pod, matching), placement.Tolerations(pod, known)
	site.Repelling = repelling(known, site.Tolerations)
	rooms := roomsFor(pod, demand.Gpus, matching, used, s.GpuResource, func(node string) int { return known[node].Gpus })
	open := slices.DeleteFunc(slices.Clone(rooms), func(one room) bool { return site.Repelling[one.node] })
	now := 0
	for _, one := range open {
		now += one.now
	}
	if len(open) == 0 {
		open = rooms // as it will be when the taints are taken off
	}
	count, isNow := together(open, size, demand.PodsPerNode)
	for _, one := range rooms {
		switch {
		case one.pods >= count:
			site.Usable = append(site.Usable, one.node)
		case known[one.node].Gpus > 0:
			site.Unusable = append(site.Unusable, one.node)
			site.InUse = site.InUse || one.empty >= count
		}
	}
	site.Uneven = !isNow && demand.PodsPerNode == 0 && now >= size
	if len(site.Usable) > 0 {
		site.GpusPerNode = count * demand.Gpus
	}
	sort.Strings(site.Usable)
	sort.Strings(site.Unusable)
	return site, nil
}

// repelling is the nodes with a taint of Railweave's that is not tolerated. They stay usable, as Railweave looks at its taints by itself when they
// change, but their room is none that the job has.
func repelling(known map[string]contract.NodeLine, tolerations []contract.Toleration) map[string]bool {
	nodes := map[string]bool{}
	for name, line := range known {
		if placement.Repels(line.Labels, tolerations) {
			nodes[name] = true
		}
	}
	return nodes
}

// Untolerated is a taint that keeps the pod off, "" for none. Those that say that the node is not ready come and go, and a cordon is told by
// the node itself.
func Untolerated(pod *corev1.Pod, node *corev1.Node) string {
	for i := range node.Spec.Taints {
		taint := &node.Spec.Taints[i]
		if taint.Effect == corev1.TaintEffectPreferNoSchedule || passing[taint.Key] {
			continue
		}
		if !tolerated(pod, taint) {
			return taint.ToString()
		}
	}
	return ""
}

var passing = map[string]bool{corev1.TaintNodeNotReady: true, corev1.TaintNodeUnreachable: true, corev1.TaintNodeUnschedulable: true}

func tolerated(pod *corev1.Pod, taint *corev1.Taint) bool {
	for i := range pod.Spec.Tolerations {
		if tolerates(&pod.Spec.Tolerations[i], taint) {
			return true
		}
	}
	return false
}

func tolerates(toleration *corev1.Toleration, taint *corev1.Taint) bool {
	if toleration.TolerationSeconds != nil {
		return false // it would begin only to be evicted
	}
	if toleration.Effect != "" && toleration.Effect != taint.Effect || toleration.Key != "" && toleration.Key != taint.Key {
		return false
	}
	switch toleration.Operator {
	case corev1.TolerationOpExists:
		return true
	case "", corev1.TolerationOpEqual:
		return toleration.Key != "" && toleration.Value == taint.Value
	}
	return false
}
