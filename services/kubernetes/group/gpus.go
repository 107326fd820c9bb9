package group

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"railweave.dev/kubernetes/names"
)

// Gpus is the number of GPUs that the pod holds while it runs, as the scheduler counts them: those of its containers and sidecars together, or
// of the init container that needs more. `resources` are their names, with commas between them. GPUs that it claims are in an annotation,
// which the controller writes.
func Gpus(pod *corev1.Pod, resources string) int {
	count := Claimed(pod)
	for resource := range strings.SplitSeq(resources, ",") {
		count += held(pod, corev1.ResourceName(resource))
	}
	return count
}

func held(pod *corev1.Pod, resource corev1.ResourceName) int {
	sidecars, most, running := 0, 0, 0
	for i := range pod.Spec.InitContainers {
		container := &pod.Spec.InitContainers[i]
		asked := ofContainer(container, resource)
		if container.RestartPolicy != nil && *container.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			sidecars += asked
			most = max(most, sidecars)
		} else {
			most = max(most, sidecars+asked)
		}
	}
	for i := range pod.Spec.Containers {
		running += ofContainer(&pod.Spec.Containers[i], resource)
	}
	return max(most, sidecars+running)
}

func ofContainer(container *corev1.Container, resource corev1.ResourceName) int {
	asked, found := container.Resources.Limits[resource]
	if !found {
		asked = container.Resources.Requests[resource]
	}
	return int(asked.Value())
}

// Claimed is the GPUs of the pod's ResourceClaims, where they have been counted.
func Claimed(pod *corev1.Pod) int {
	if len(pod.Spec.ResourceClaims) == 0 {
		return 0
	}
	count, err := strconv.Atoi(pod.Annotations[names.ClaimedGpus])
	if err != nil || count < 0 {
		return 0
	}
	return count
}

// Offered is how many GPUs a node offers under these names.
func Offered(list corev1.ResourceList, resources string) int {
	count := 0
	for resource := range strings.SplitSeq(resources, ",") {
		count += int(list.Name(corev1.ResourceName(resource), "").Value())
	}
	return count
}

// OtherGpus is the name of a resource that stands for GPUs, or parts of them, and is none of `resources`; "" where the pod asks for none.
func OtherGpus(pod *corev1.Pod, resources string) string {
	known := map[string]bool{}
	for resource := range strings.SplitSeq(resources, ",") {
		known[resource] = true
	}
	for _, containers := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range containers {
			for resource := range containers[i].Resources.Limits {
				if name := string(resource); !known[name] && standsForGpus(name) {
					return name
				}
			}
		}
	}
	return ""
}

func standsForGpus(resource string) bool {
	vendor, name, _ := strings.Cut(resource, "/")
	switch vendor {
	case "nvidia.com", "amd.com", "gpu.intel.com", "habana.ai", "intel.com":
		return name == "gpu" || strings.HasPrefix(name, "gpu.") || strings.HasPrefix(name, "mig-") || name == "gaudi" || name == "i915" || name == "xe"
	}
	return false
}
