package group

import (
	"sort"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"railweave.dev/kubernetes/names"
)

func numbered(texts ...string) (int, bool) {
	for _, text := range texts {
		if position, err := strconv.Atoi(text); err == nil && position >= 0 {
			return position, true
		}
	}
	return 0, false
}

// position is where the pod's owner puts it within the group: pods of lower positions have lower ranks.
func position(pod *corev1.Pod, key Key, layout Layout) (int, bool) {
	completion, indexed := numbered(pod.Labels[jobIndexLabel], pod.Annotations[jobIndexLabel])
	switch key.Kind {
	case JobSet:
		slice, known := layout.Replicas[pod.Labels[jobSetReplica]]
		job, found := numbered(pod.Labels[jobSetJobIndex], pod.Annotations[jobSetJobIndex])
		if known && found && (indexed || slice.PerJob == 1) {
			return slice.First + job*slice.PerJob + completion, true
		}
	case LeaderWorker:
		return numbered(pod.Labels[lwsWorker])
	case PyTorchJob:
		replica := pod.Labels[trainingType]
		if replica != "" {
			replica = strings.ToUpper(replica[:1]) + strings.ToLower(replica[1:])
		}
		slice, known := layout.Replicas[replica]
		if at, found := numbered(pod.Labels[trainingIndex]); known && found {
			return slice.First + at, true
		}
	case MPIJob:
		if launches(pod) {
			return 0, true
		}
		slice, known := layout.Replicas["Worker"]
		if at, found := numbered(pod.Name[strings.LastIndex(pod.Name, "-")+1:], pod.Labels[trainingIndex]); known && found {
			return slice.First + at, true // by its name, as releases differ in whether labels count the launcher
		}
	case RayCluster:
		if slice, known := layout.Replicas["head"]; known && pod.Labels[rayType] == "head" {
			return slice.First, true
		}
	case SinglePod:
		return 0, true
	default:
		if indexed {
			return completion, true
		}
	}
	return numbered(pod.Annotations[names.PodIndex], pod.Labels[names.PodIndex], pod.Labels[statefulIndex])
}

// Positions gives every pod its position: where the owner puts it, else the lowest that is free, oldest pods first. Pods that
// are replaced share a position with what replaces them; the live one is kept, and then the newest.
func Positions(pods []*corev1.Pod, key Key, layout Layout) map[int]*corev1.Pod {
	ordered := append([]*corev1.Pod(nil), pods...)
	sort.Slice(ordered, func(a, b int) bool {
		if !ordered[a].CreationTimestamp.Equal(&ordered[b].CreationTimestamp) {
			return ordered[a].CreationTimestamp.Before(&ordered[b].CreationTimestamp)
		}
		return ordered[a].Name < ordered[b].Name
	})
	taken := map[int]*corev1.Pod{}
	var loose []*corev1.Pod
	for _, pod := range ordered {
		at, found := position(pod, key, layout)
		if !found {
			loose = append(loose, pod)
		} else if held, ok := taken[at]; !ok || !prefer(held, pod) {
			taken[at] = pod
		}
	}
	next := 0
	for _, pod := range loose {
		if Failed(pod) {
			continue
		}
		for taken[next] != nil {
			next++
		}
		taken[next] = pod
	}
	return taken
}

// prefer says that the older pod stays in its position.
func prefer(held, newer *corev1.Pod) bool { return !Finished(held) && Finished(newer) }

// Finished says that the pod's containers have ended for good.
func Finished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

func Failed(pod *corev1.Pod) bool { return pod.Status.Phase == corev1.PodFailed }
