package controller

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"railweave.dev/kubernetes/group"
)

// computeDomain makes NVIDIA's ComputeDomain for the group's nodes, from whose template its pods claim a channel. A reason says why it
// cannot be made; its pods would never start without it.
func (r *Reconciler) computeDomain(ctx context.Context, key group.Key, v *view) (why string, err error) {
	mapping, err := r.Owners.Mapper.RESTMapping(schema.GroupKind{Group: "resource.nvidia.com", Kind: "ComputeDomain"})
	if meta.IsNoMatchError(err) {
		return "the cluster has no ComputeDomains (resource.nvidia.com): install NVIDIA's DRA driver, or make it without its annotation", nil
	} else if err != nil {
		return "", err
	}
	hosts := map[string]bool{}
	for _, chunk := range v.held.Chunks {
		hosts[chunk.Node] = true
	}
	wanted := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"numNodes": int64(len(hosts)),
		"channel": map[string]any{"resourceClaimTemplate": map[string]any{"name": key.ObjectName()}}}}}
	wanted.SetGroupVersionKind(mapping.GroupVersionKind)
	wanted.SetNamespace(key.Namespace)
	wanted.SetName(key.ObjectName())
	first, _ := v.waiting()
	wanted.SetOwnerReferences([]metav1.OwnerReference{ownerOf(v.pods[first])})
	held := wanted.DeepCopy()
	err = r.Owners.Live.Get(ctx, client.ObjectKeyFromObject(wanted), held)
	if apierrors.IsNotFound(err) {
		return "", r.Client.Create(ctx, wanted)
	} else if err != nil {
		return "", err
	}
	if count, _, _ := unstructured.NestedInt64(held.Object, "spec", "numNodes"); count == int64(len(hosts)) && held.GetDeletionTimestamp() == nil {
		return "", nil
	}
	// Of another placement; what is in it cannot be changed.
	if held.GetDeletionTimestamp() == nil {
		err = client.IgnoreNotFound(r.Client.Delete(ctx, held))
	}
	return "waits for the ComputeDomain of its last placement to be gone", err
}
