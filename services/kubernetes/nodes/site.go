package nodes

import (
	"context"
	"sort"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"railweave.dev/kubernetes/placement"
)

// Of is where pods like this one may run: what their own selectors, affinity and tolerations allow, and what nodes offer.
// Cordons and failures are not among that where they are carried over as drains, because those hold for jobs that wait, too.
func (s *Syncer) Of(ctx context.Context, pod *corev1.Pod, gpus int, without map[string]bool) (placement.Site, error) {
	var list corev1.NodeList
	if err := s.Client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return placement.Site{}, err
	}
	s.mutex.Lock()
	known := s.known
	s.mutex.Unlock()
	required := nodeaffinity.GetRequiredNodeAffinity(pod)
	var site placement.Site
	present := map[string]bool{}
	for i := range list.Items {
		node := &list.Items[i]
		present[node.Name] = true
		offered := int(node.Status.Allocatable.Name(corev1.ResourceName(s.GpuResource), "").Value())
		matches, err := required.Match(node)
		usable := err == nil && matches && tolerated(pod, node) && offered >= gpus && !without[node.Name] && (s.Drains || !node.Spec.Unschedulable)
		if usable {
			site.Usable = append(site.Usable, node.Name)
			if site.GpusPerNode == 0 || offered < site.GpusPerNode {
				site.GpusPerNode = offered
			}
		} else if known[node.Name].Gpus > 0 {
			site.Unusable = append(site.Unusable, node.Name)
		}
	}
	for name, line := range known {
		if !present[name] && line.Gpus > 0 {
			site.Unusable = append(site.Unusable, name)
		}
	}
	sort.Strings(site.Usable)
	sort.Strings(site.Unusable)
	return site, nil
}

// tolerated says that no taint keeps the pod off. Taints that the API server's own controllers set come and go, and are known
// by the node's conditions.
func tolerated(pod *corev1.Pod, node *corev1.Node) bool {
	for i := range node.Spec.Taints {
		taint := &node.Spec.Taints[i]
		if taint.Effect == corev1.TaintEffectPreferNoSchedule || passing[taint.Key] {
			continue
		}
		held := false
		for j := range pod.Spec.Tolerations {
			held = held || tolerates(&pod.Spec.Tolerations[j], taint)
		}
		if !held {
			return false
		}
	}
	return true
}

var passing = map[string]bool{
	corev1.TaintNodeNotReady: true, corev1.TaintNodeUnreachable: true, corev1.TaintNodeUnschedulable: true, corev1.TaintNodeMemoryPressure: true,
	corev1.TaintNodeDiskPressure: true, corev1.TaintNodePIDPressure: true, corev1.TaintNodeNetworkUnavailable: true,
}

func tolerates(toleration *corev1.Toleration, taint *corev1.Taint) bool {
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
