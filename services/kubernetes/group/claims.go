package group

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"railweave.dev/kubernetes/names"
)

// Claims counts the GPUs of ResourceClaims (DRA).
type Claims struct {
	Live    client.Reader
	Classes string // DeviceClasses of which a device is a GPU, with commas between them
}

// Counted is the GPUs of a pod's claims. `Unknown` says why they cannot be counted.
type Counted struct {
	Gpus    int
	Unknown string
	Missing string // a claim or template that is not there yet
}

func (c *Claims) gpu(class string) bool {
	for one := range strings.SplitSeq(c.Classes, ",") {
		if one == class {
			return true
		}
	}
	return false
}

// Of reads what the pod's claims ask for, in the namespace that the pod is made in.
func (c *Claims) Of(ctx context.Context, pod *corev1.Pod, namespace string) (Counted, error) {
	counted := Counted{}
	for i := range pod.Spec.ResourceClaims {
		one := &pod.Spec.ResourceClaims[i]
		if one.Name == names.ImexClaim {
			continue
		}
		devices, shared, err := c.devices(ctx, one, namespace)
		if apierrors.IsNotFound(err) {
			counted.Missing = fmt.Sprintf("its claim %s is not there yet: %s", one.Name, err)
			continue
		} else if meta.IsNoMatchError(err) || apierrors.IsForbidden(err) {
			counted.Unknown = fmt.Sprintf("its claim %s cannot be read: %s", one.Name, err)
			continue
		} else if err != nil {
			return counted, err
		}
		gpus, unknown := c.requested(devices)
		if shared && (gpus > 0 || unknown != "") {
			gpus, unknown = 0, "other pods may share the GPUs of it; a ResourceClaimTemplate would make one for each pod"
		}
		counted.Gpus += gpus
		if unknown != "" {
			counted.Unknown = fmt.Sprintf("GPUs of its claim %s are not counted: %s", one.Name, unknown)
		}
	}
	return counted, nil
}

func (c *Claims) devices(ctx context.Context, claim *corev1.PodResourceClaim, namespace string) (*resourcev1.DeviceClaim, bool, error) {
	if claim.ResourceClaimTemplateName != nil {
		template := &resourcev1.ResourceClaimTemplate{}
		err := c.Live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: *claim.ResourceClaimTemplateName}, template)
		return &template.Spec.Spec.Devices, false, err
	}
	held := &resourcev1.ResourceClaim{}
	if claim.ResourceClaimName == nil {
		return &held.Spec.Devices, true, nil
	}
	err := c.Live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: *claim.ResourceClaimName}, held)
	return &held.Spec.Devices, true, err
}

func (c *Claims) requested(devices *resourcev1.DeviceClaim) (gpus int, unknown string) {
	for i := range devices.Requests {
		request := &devices.Requests[i]
		for j := range request.FirstAvailable {
			if c.gpu(request.FirstAvailable[j].DeviceClassName) {
				return gpus, fmt.Sprintf("request %s has several alternatives", request.Name)
			}
		}
		if request.Exactly == nil || !c.gpu(request.Exactly.DeviceClassName) {
			continue
		}
		switch {
		case request.Exactly.AdminAccess != nil && *request.Exactly.AdminAccess:
		case request.Exactly.AllocationMode == resourcev1.DeviceAllocationModeAll:
			return gpus, fmt.Sprintf("request %s is for all of a node", request.Name)
		case request.Exactly.Count > 0:
			gpus += int(request.Exactly.Count)
		default:
			gpus++
		}
	}
	return gpus, ""
}
