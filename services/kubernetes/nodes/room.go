package nodes

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"railweave.dev/kubernetes/group"
)

// room is how many pods of a kind a node holds on its own, as far as Railweave does not know what else is on it, and now.
type room struct {
	node             string
	empty, pods, now int
}

// roomsFor says it of each node. Where no GPUs are free for a pod Railweave knows of the jobs that use them, and says so better: such a node
// has the room that it has on its own. Of a node that offers fewer GPUs than the fabric has there Railweave does not know how many are free.
func roomsFor(pod *corev1.Pod, gpus int, nodes []*corev1.Node, used map[string]*usage, resources string, fabric func(string) int) []room {
	wanted := resource.PodRequests(pod, resource.PodResourcesOptions{})
	rooms := make([]room, 0, len(nodes))
	for _, node := range nodes {
		offered := group.Offered(node.Status.Allocatable, resources)
		isSmaller := offered < fabric(node.Name)
		if group.Claimed(pod) > 0 { // a driver's devices are in no node's allocatable
			offered, isSmaller = max(offered, fabric(node.Name)), false
		}
		here := used[node.Name]
		if here == nil {
			here = &usage{}
		}
		one := room{node: node.Name, empty: min(offered/gpus, fits(wanted, node.Status.Allocatable, nil))}
		free := offered - here.gpus
		beside := fits(wanted, node.Status.Allocatable, here.others)
		one.now = max(0, min(free/gpus, beside))
		switch {
		case isSmaller:
			one.pods = one.now
		case free >= gpus:
			one.pods = min(one.empty, beside)
		default:
			one.pods = one.empty
		}
		if !takesPods(node) {
			one.now = 0
		}
		rooms = append(rooms, one)
	}
	return rooms
}

// usage is what the pods of a node hold of it.
type usage struct {
	gpus   int
	others corev1.ResourceList
}

func usageOf(pods []corev1.Pod, resources string) map[string]*usage {
	used := map[string]*usage{}
	for i := range pods {
		pod := &pods[i]
		if pod.Spec.NodeName == "" || group.Finished(pod) {
			continue
		}
		here := used[pod.Spec.NodeName]
		if here == nil {
			here = &usage{others: corev1.ResourceList{}}
			used[pod.Spec.NodeName] = here
		}
		here.gpus += group.Gpus(pod, resources)
		for name, quantity := range resource.PodRequests(pod, resource.PodResourcesOptions{}) {
			all := here.others[name]
			all.Add(quantity)
			here.others[name] = all
		}
	}
	return used
}

// In a burst of groups all are asked with one look: 13 ms for 10,000 pods.
const usageFor = 500 * time.Millisecond

// used is what pods hold of each node, as of a moment ago. Not to be changed.
func (s *Syncer) used(ctx context.Context) (map[string]*usage, error) {
	s.usageMutex.Lock()
	defer s.usageMutex.Unlock()
	if s.usage != nil && time.Since(s.usageAt) < usageFor {
		return s.usage, nil
	}
	var pods corev1.PodList
	if err := s.Client.List(ctx, &pods, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	s.usage, s.usageAt = usageOf(pods.Items, s.GpuResource), time.Now()
	return s.usage, nil
}

// takesPods says that the scheduler sends pods there now. Cordons and failures that are carried over as drains come and go while a job waits.
func takesPods(node *corev1.Node) bool {
	if node.Spec.Unschedulable {
		return false
	}
	for i := range node.Spec.Taints {
		if passing[node.Spec.Taints[i].Key] && node.Spec.Taints[i].Effect != corev1.TaintEffectPreferNoSchedule {
			return false
		}
	}
	for i := range node.Status.Conditions {
		if node.Status.Conditions[i].Type == corev1.NodeReady {
			return node.Status.Conditions[i].Status == corev1.ConditionTrue
		}
	}
	return true
}

const anyNumber = 1 << 20

// fits is how many pods fit by what is not GPUs.
func fits(wanted, offered, used corev1.ResourceList) int {
	count := anyNumber
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage} {
		asked, is := wanted[name]
		if !is || asked.IsZero() {
			continue
		}
		all, is := offered[name]
		if !is {
			if name == corev1.ResourceEphemeralStorage {
				continue
			}
			return 0
		}
		taken := used[name]
		count = min(count, max(0, int((all.MilliValue()-taken.MilliValue())/asked.MilliValue())))
	}
	return count
}

// together is how many of the group's pods share a node: as asked for, else the most that make the same number on each of as many nodes as
// have the room now, which is the second answer, or will have when others have ended; 1 where there are not enough.
func together(rooms []room, pods, asked int) (int, bool) {
	if asked > 0 {
		return asked, false
	}
	for i, has := range []func(room) int{func(one room) int { return one.now }, func(one room) int { return one.pods }} {
		most := 0
		for _, one := range rooms {
			most = max(most, has(one))
		}
		for count := min(pods, most); count > 0; count-- {
			if pods%count == 0 && nodesWith(rooms, has, count)*count >= pods {
				return count, i == 0
			}
		}
	}
	return 1, false
}

func nodesWith(rooms []room, has func(room) int, count int) int {
	nodes := 0
	for _, one := range rooms {
		if has(one) >= count {
			nodes++
		}
	}
	return nodes
}
