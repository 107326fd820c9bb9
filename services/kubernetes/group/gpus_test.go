package group

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"railweave.dev/kubernetes/names"
)

func asking(name string, count int64) corev1.Container {
	return corev1.Container{Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceName(name): *resource.NewQuantity(count, resource.DecimalSI)}}}
}

// As the scheduler counts: what runs at a time, at most.
func TestGpusOfAllContainers(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	sidecar := func(count int64) corev1.Container {
		one := asking("nvidia.com/gpu", count)
		one.RestartPolicy = &always
		return one
	}
	nvidia := func(count int64) corev1.Container { return asking("nvidia.com/gpu", count) }
	for name, one := range map[string]struct {
		init, containers []corev1.Container
		want             int
	}{
		"containers together":                       {nil, []corev1.Container{nvidia(2), nvidia(3)}, 5},
		"an init container that needs more":         {[]corev1.Container{nvidia(8), nvidia(1)}, []corev1.Container{nvidia(2)}, 8},
		"one that needs less":                       {[]corev1.Container{nvidia(1)}, []corev1.Container{nvidia(2)}, 2},
		"only init containers":                      {[]corev1.Container{nvidia(4)}, []corev1.Container{{}}, 4},
		"a sidecar beside the containers":           {[]corev1.Container{sidecar(1)}, []corev1.Container{nvidia(2)}, 3},
		"a sidecar beside later init containers":    {[]corev1.Container{sidecar(1), nvidia(4)}, []corev1.Container{nvidia(2)}, 5},
		"not beside those that have ended":          {[]corev1.Container{nvidia(4), sidecar(1)}, []corev1.Container{nvidia(2)}, 4},
		"another name that is configured":           {nil, []corev1.Container{asking("amd.com/gpu", 4)}, 4},
		"a name that is not":                        {nil, []corev1.Container{asking("nvidia.com/mig-1g.10gb", 4)}, 0},
		"both names are counted each as it is held": {[]corev1.Container{nvidia(4)}, []corev1.Container{asking("amd.com/gpu", 2)}, 6},
	} {
		pod := &corev1.Pod{Spec: corev1.PodSpec{InitContainers: one.init, Containers: one.containers}}
		if got := Gpus(pod, "nvidia.com/gpu,amd.com/gpu"); got != one.want {
			t.Errorf("%s: %d instead of %d", name, got, one.want)
		}
	}
	mig := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{asking("nvidia.com/mig-1g.10gb", 1)}}}
	if OtherGpus(mig, "nvidia.com/gpu") == "" || OtherGpus(mig, "nvidia.com/gpu,nvidia.com/mig-1g.10gb") != "" {
		t.Error("parts of GPUs are not known for such")
	}
	// What a pod without claims says of them is nothing.
	mig.Annotations = map[string]string{names.ClaimedGpus: "8"}
	if Gpus(mig, "nvidia.com/gpu") != 0 {
		t.Error("a pod says itself how many GPUs it claims")
	}
}

// reader has templates and claims by name.
type reader struct {
	client.Reader
	requests map[string][]resourcev1.DeviceRequest
}

func (r reader) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	requests, found := r.requests[key.Name]
	if !found {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "resourceclaims"}, key.Name)
	}
	switch held := into.(type) {
	case *resourcev1.ResourceClaimTemplate:
		held.Spec.Spec.Devices.Requests = requests
	case *resourcev1.ResourceClaim:
		held.Spec.Devices.Requests = requests
	}
	return nil
}

func TestGpusOfClaims(t *testing.T) {
	exactly := func(class string, count int64) resourcev1.DeviceRequest {
		return resourcev1.DeviceRequest{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: class, Count: count}}
	}
	all := exactly("gpu.nvidia.com", 0)
	all.Exactly.AllocationMode = resourcev1.DeviceAllocationModeAll
	held := Claims{Classes: "gpu.nvidia.com,gpu.amd.com", Live: reader{requests: map[string][]resourcev1.DeviceRequest{
		"eight": {exactly("gpu.nvidia.com", 8), exactly("nic", 2)}, "one": {exactly("gpu.amd.com", 0)}, "nic": {exactly("nic", 1)}, "all": {all},
		"any": {{Name: "r", FirstAvailable: []resourcev1.DeviceSubRequest{{DeviceClassName: "gpu.nvidia.com"}}}}}}}
	for name, one := range map[string]struct {
		template bool
		gpus     int
		unknown  string
	}{"eight": {true, 8, ""}, "one": {true, 1, ""}, "nic": {true, 0, ""}, "all": {true, 0, "all of a node"}, "any": {true, 0, "alternatives"}, "gone": {true, 0, ""}} {
		for _, template := range []bool{true, false} {
			pod := &corev1.Pod{Spec: corev1.PodSpec{ResourceClaims: []corev1.PodResourceClaim{{Name: "c"}}}}
			if template {
				pod.Spec.ResourceClaims[0].ResourceClaimTemplateName = &name
			} else {
				pod.Spec.ResourceClaims[0].ResourceClaimName = &name
				if one.gpus > 0 {
					one.gpus, one.unknown = 0, "may share"
				} else if one.unknown != "" {
					one.unknown = "may share"
				}
			}
			counted, err := held.Of(context.Background(), pod, "team")
			if err != nil || counted.Gpus != one.gpus || !strings.Contains(counted.Unknown, one.unknown) || (one.unknown == "") != (counted.Unknown == "") || (name == "gone") != (counted.Missing != "") {
				t.Errorf("%s (template %t): %+v %v", name, template, counted, err)
			}
		}
	}
}
