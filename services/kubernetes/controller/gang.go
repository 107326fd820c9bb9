package controller

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"railweave.dev/kubernetes/group"
)

// GangKind is Kubernetes' own gang; its version is what the API server says.
var GangKind = schema.GroupKind{Group: "scheduling.k8s.io", Kind: "PodGroup"}

// gang makes the PodGroup that the pods were given when they were created, before the first of them may be scheduled. A reason says why
// it cannot be made yet.
func (r *Reconciler) gang(ctx context.Context, key group.Key, v *view, members []int) (why string, err error) {
	named := false
	for _, i := range members {
		if key.Kind == group.SinglePod {
			if err := r.loose(ctx, v.pods[i]); err != nil {
				return "", err
			}
		}
		one := v.pods[i].Spec.SchedulingGroup
		named = named || one != nil && one.PodGroupName != nil && *one.PodGroupName == key.ObjectName()
	}
	if !named {
		return "", nil
	}
	mapping, err := r.Owners.Mapper.RESTMapping(GangKind)
	if meta.IsNoMatchError(err) {
		return "the API server has no PodGroups any more, and its pods are of one: delete them to have new ones", nil
	} else if err != nil {
		return "", err
	}
	size := int64(v.situation.Size)
	wanted := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"schedulingPolicy": map[string]any{
		"gang": map[string]any{"minCount": size}}}}}
	wanted.SetGroupVersionKind(mapping.GroupVersionKind)
	wanted.SetNamespace(key.Namespace)
	wanted.SetName(key.ObjectName())
	wanted.SetOwnerReferences([]metav1.OwnerReference{ownerOf(v.pods[members[0]])})
	held := wanted.DeepCopy()
	err = r.Owners.Live.Get(ctx, client.ObjectKeyFromObject(wanted), held)
	if apierrors.IsNotFound(err) {
		return "", r.Client.Create(ctx, wanted)
	} else if err != nil {
		return "", err
	}
	if count, _, _ := unstructured.NestedInt64(held.Object, "spec", "schedulingPolicy", "gang", "minCount"); count == size && held.GetDeletionTimestamp() == nil {
		return "", nil
	}
	if held.GetDeletionTimestamp() == nil {
		err = client.IgnoreNotFound(r.Client.Delete(ctx, held))
	}
	return fmt.Sprintf("waits for PodGroup %s of its last pods to be gone", key.ObjectName()), err
}

// loose makes the PodGroup of a pod that was given one when it was created and is of no group after all: the scheduler would wait for it
// without end.
func (r *Reconciler) loose(ctx context.Context, pod *corev1.Pod) error {
	one := pod.Spec.SchedulingGroup
	if one == nil || one.PodGroupName == nil || !strings.HasPrefix(*one.PodGroupName, group.ObjectPrefix) {
		return nil
	}
	mapping, err := r.Owners.Mapper.RESTMapping(GangKind)
	if meta.IsNoMatchError(err) {
		return nil
	} else if err != nil {
		return err
	}
	wanted := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"schedulingPolicy": map[string]any{
		"gang": map[string]any{"minCount": int64(1)}}}}}
	wanted.SetGroupVersionKind(mapping.GroupVersionKind)
	wanted.SetNamespace(pod.Namespace)
	wanted.SetName(*one.PodGroupName)
	wanted.SetOwnerReferences([]metav1.OwnerReference{ownerOf(pod)})
	if err := r.Client.Create(ctx, wanted); !apierrors.IsAlreadyExists(err) {
		return err
	}
	return nil
}

// ownerOf is what owns objects that the controller makes for the pod's group: they go with it.
func ownerOf(pod *corev1.Pod) metav1.OwnerReference {
	if above := metav1.GetControllerOf(pod); above != nil {
		return metav1.OwnerReference{APIVersion: above.APIVersion, Kind: above.Kind, Name: above.Name, UID: above.UID}
	}
	return metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID}
}
