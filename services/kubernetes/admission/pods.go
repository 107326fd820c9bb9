// Package admission adds the gate, and what a container reads of its placement, to pods when they are created: their environment
// cannot be changed later. What users wrote wrongly is refused with what to write.
package admission

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"railweave.dev/kubernetes/group"
	"railweave.dev/kubernetes/names"
)

// Environment is what containers get, and the annotation that each value is read from once the pod is placed.
var Environment = [][2]string{
	{"RAILWEAVE_JOB", names.Job}, {"RAILWEAVE_POD_INDEX", names.PodIndex}, {"RAILWEAVE_RANKS", names.Ranks}, {"RAILWEAVE_NODES", names.Hosts},
	{"NCCL_IB_HCA", names.Hca}, {"NCCL_IB_SL", names.Sl}, {"NCCL_IB_TC", names.Tc}, {"NCCL_IB_PKEY", names.Pkey},
}

// Pods is the handler of both webhooks: pods of namespaces that are enrolled are changed, and all are checked.
type Pods struct {
	GpuResource string
	Tenant      string
	Gangs       bool // groups are gangs of Kubernetes' own, which pods can only be made members of now
}

// Mutate gates a pod that asks for GPUs. One that was gated by its author gets the environment alone.
func (p *Pods) Mutate(_ context.Context, request admission.Request) admission.Response {
	pod := &corev1.Pod{}
	if err := json.Unmarshal(request.Object.Raw, pod); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if request.Operation != admissionv1.Create || !Change(pod, p.GpuResource, p.Gangs) {
		return admission.Allowed("")
	}
	changed, err := json.Marshal(pod)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	return admission.PatchResponseFromRaw(request.Object.Raw, changed)
}

// imexClaim is the channel of a ComputeDomain, whose template the controller has made when the pod begins.
const imexClaim = "railweave-compute-domain"

// Change does to a new pod what the webhook does; false where that is nothing.
func Change(pod *corev1.Pod, resource string, gangs bool) bool {
	if group.Gpus(pod, resource) == 0 || pod.Annotations[names.Skip] == "true" || pod.Spec.NodeName != "" {
		return false
	}
	if !group.Gated(pod) {
		pod.Spec.SchedulingGates = append(pod.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: names.Gate})
	}
	key, claim := group.KeyOfTemplate(pod), ""
	if name := key.ObjectName(); gangs && pod.Spec.SchedulingGroup == nil && group.Steady(key.Kind) {
		pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &name}
	}
	if pod.Annotations[names.Imex] == "true" && key.Kind != group.SinglePod {
		claim = key.ObjectName()
		pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, corev1.PodResourceClaim{Name: imexClaim, ResourceClaimTemplateName: &claim})
	}
	for i := range pod.Spec.Containers {
		container := &pod.Spec.Containers[i]
		if _, found := container.Resources.Limits[corev1.ResourceName(resource)]; found {
			container.Env = withPlacement(container.Env)
			if claim != "" {
				container.Resources.Claims = append(container.Resources.Claims, corev1.ResourceClaim{Name: imexClaim})
			}
		}
	}
	return true
}

func withPlacement(env []corev1.EnvVar) []corev1.EnvVar {
	own := map[string]bool{}
	for _, one := range env {
		own[one.Name] = true
	}
	for _, pair := range Environment {
		if !own[pair[0]] {
			env = append(env, corev1.EnvVar{Name: pair[0], ValueFrom: &corev1.EnvVarSource{
				FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.annotations['" + pair[1] + "']"}}})
		}
	}
	return env
}

// Validate refuses what could never be placed.
func (p *Pods) Validate(_ context.Context, request admission.Request) admission.Response {
	pod := &corev1.Pod{}
	if err := json.Unmarshal(request.Object.Raw, pod); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	pod.Namespace = request.Namespace
	if err := Check(pod, p.GpuResource, p.Tenant); err != nil {
		return admission.Denied(fmt.Sprintf("railweave: pod %s/%s: %s", request.Namespace, nameOf(pod), err))
	}
	return admission.Allowed("")
}

func nameOf(pod *corev1.Pod) string {
	if pod.Name != "" {
		return pod.Name
	}
	return pod.GenerateName + "*"
}

// Check says what is wrong with a gated pod.
func Check(pod *corev1.Pod, resource, tenant string) error {
	if !group.Gated(pod) {
		return nil
	}
	demand, err := group.DemandOf(pod, resource, tenant)
	if err != nil {
		return err
	}
	text := pod.Annotations[names.GroupSize]
	if text == "" {
		if pod.Annotations[names.Group] != "" || pod.Labels[names.Group] != "" {
			return fmt.Errorf("it is of group %q, whose number of pods is not known: say it in annotation %s", group.KeyOfTemplate(pod).Name, names.GroupSize)
		}
		return nil
	}
	size, err := strconv.Atoi(text)
	if err != nil || size < 1 || size > 1<<20 {
		return fmt.Errorf("annotation %s is %q, which is no number from 1 on", names.GroupSize, text)
	}
	_, err = demand.Filled(size)
	return err
}
