// Package kueue is an admission check for Kueue: a workload is admitted when Railweave could place it now, and its pods are narrowed to
// the smallest group of nodes that it would be placed in. Which nodes, and which ranks on them, is decided when its gated pods exist.
package kueue

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"railweave.dev/kubernetes/contract"
	"railweave.dev/kubernetes/group"
	"railweave.dev/kubernetes/placement"
	"railweave.dev/kubernetes/policy"
)

// ControllerName is what AdmissionChecks name to be answered here.
const ControllerName = "railweave.dev/placement"

const askAgain = 10 * time.Second

// Site says where pods may run.
type Site interface {
	Of(ctx context.Context, pod *corev1.Pod, demand *group.Demand, size int, without map[string]bool) (placement.Site, error)
}

// Checks answers AdmissionChecks.
type Checks struct {
	Client      client.Client
	Contract    *contract.Client
	Site        Site
	Log         logr.Logger
	Cluster     string
	Rules       func() *policy.Policy
	GpuResource string

	workload, check schema.GroupVersionKind
}

// Add puts it into the manager; the error says where Kueue is not installed.
func (c *Checks) Add(ctx context.Context, mgr manager.Manager) error {
	for kind, into := range map[string]*schema.GroupVersionKind{"Workload": &c.workload, "AdmissionCheck": &c.check} {
		mapping, err := mgr.GetRESTMapper().RESTMapping(schema.GroupKind{Group: "kueue.x-k8s.io", Kind: kind})
		// Kinds that were just installed take the API server some seconds to list.
		for tries := 0; tries < 20 && meta.IsNoMatchError(err) && ctx.Err() == nil; tries++ {
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
			mapping, err = mgr.GetRESTMapper().RESTMapping(schema.GroupKind{Group: "kueue.x-k8s.io", Kind: kind})
		}
		if meta.IsNoMatchError(err) {
			return fmt.Errorf("--kueue: the API server has no %s of kueue.x-k8s.io; install Kueue, or start without", kind)
		} else if err != nil {
			return err
		}
		*into = mapping.GroupVersionKind
	}
	if err := builder.ControllerManagedBy(mgr).Named("admissionchecks").For(object(c.check)).Complete(reconcile.Func(c.activate)); err != nil {
		return err
	}
	return builder.ControllerManagedBy(mgr).Named("workloads").For(object(c.workload)).Complete(reconcile.Func(c.reconcile))
}

func object(kind schema.GroupVersionKind) *unstructured.Unstructured {
	one := &unstructured.Unstructured{}
	one.SetGroupVersionKind(kind)
	return one
}

func (c *Checks) ours(ctx context.Context, name string) (bool, error) {
	one := object(c.check)
	if err := c.Client.Get(ctx, client.ObjectKey{Name: name}, one); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	text, _, _ := unstructured.NestedString(one.Object, "spec", "controllerName")
	return text == ControllerName, nil
}

// apply writes fields of a status that are this controller's.
func (c *Checks) apply(ctx context.Context, kind schema.GroupVersionKind, at client.ObjectKey, status map[string]any) error {
	one := object(kind)
	one.SetName(at.Name)
	one.SetNamespace(at.Namespace)
	one.Object["status"] = status
	return c.Client.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(one), client.FieldOwner("railweave"), client.ForceOwnership)
}

// activate says of an AdmissionCheck that it is answered.
func (c *Checks) activate(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	ours, err := c.ours(ctx, request.Name)
	if err != nil || !ours {
		return reconcile.Result{}, err
	}
	one := object(c.check)
	if err := c.Client.Get(ctx, request.NamespacedName, one); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if held := conditionOf(one, "Active"); held != nil && held["status"] == "True" {
		return reconcile.Result{}, nil
	}
	return reconcile.Result{}, c.apply(ctx, c.check, request.NamespacedName, map[string]any{"conditions": []any{map[string]any{"type": "Active", "status": "True",
		"reason": "Answered", "message": "railweave-kubernetes answers it", "lastTransitionTime": now(), "observedGeneration": one.GetGeneration()}}})
}

func now() string { return time.Now().UTC().Format(time.RFC3339) }

func conditionOf(one *unstructured.Unstructured, kind string) map[string]any {
	conditions, _, _ := unstructured.NestedSlice(one.Object, "status", "conditions")
	for _, each := range conditions {
		if condition, _ := each.(map[string]any); condition["type"] == kind {
			return condition
		}
	}
	return nil
}

func isTrue(one *unstructured.Unstructured, kind string) bool {
	condition := conditionOf(one, kind)
	return condition != nil && condition["status"] == "True"
}

// reconcile answers the checks of a workload whose quota is reserved.
func (c *Checks) reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	one := object(c.workload)
	if err := c.Client.Get(ctx, request.NamespacedName, one); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !isTrue(one, "QuotaReserved") || isTrue(one, "Admitted") || isTrue(one, "Finished") || isTrue(one, "Evicted") {
		return reconcile.Result{}, nil
	}
	checks, _, _ := unstructured.NestedSlice(one.Object, "status", "admissionChecks")
	for _, each := range checks {
		check, _ := each.(map[string]any)
		name, _ := check["name"].(string)
		if check["state"] != "Pending" {
			continue
		}
		if ours, err := c.ours(ctx, name); err != nil || !ours {
			if err != nil {
				return reconcile.Result{}, err
			}
			continue
		}
		answer, err := c.answer(ctx, one)
		if err != nil {
			return reconcile.Result{}, err
		}
		if answer.state != check["state"] || answer.message != check["message"] {
			entry := map[string]any{"name": name, "state": answer.state, "message": answer.message, "lastTransitionTime": now()}
			if len(answer.updates) > 0 {
				entry["podSetUpdates"] = answer.updates
			}
			if err := c.apply(ctx, c.workload, request.NamespacedName, map[string]any{"admissionChecks": []any{entry}}); err != nil {
				return reconcile.Result{}, err
			}
			c.Log.Info("admission check answered", "workload", request.String(), "state", answer.state, "message", answer.message)
		}
		if answer.state == "Pending" {
			return reconcile.Result{RequeueAfter: askAgain}, nil
		}
	}
	return reconcile.Result{}, nil
}

// podSet is one of a workload whose pods ask for GPUs.
type podSet struct {
	name  string
	count int
	pod   *corev1.Pod
}

func (c *Checks) podSets(one *unstructured.Unstructured) ([]podSet, error) {
	list, _, _ := unstructured.NestedSlice(one.Object, "spec", "podSets")
	var sets []podSet
	for _, each := range list {
		held, _ := each.(map[string]any)
		template := &corev1.PodTemplateSpec{}
		of, _, _ := unstructured.NestedMap(held, "template")
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(of, template); err != nil {
			return nil, err
		}
		set := podSet{pod: &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}}
		set.pod.Namespace = one.GetNamespace()
		set.name, _ = held["name"].(string)
		count, _, _ := unstructured.NestedInt64(held, "count")
		if set.count = int(count); set.count > 0 && group.Gpus(set.pod, c.GpuResource) > 0 {
			sets = append(sets, set)
		}
	}
	return sets, nil
}
