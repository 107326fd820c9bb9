// Package admission adds the gate, and what a container reads of its placement, to pods when they are created: their environment
// cannot be changed later. What users wrote wrongly is refused with what to write.
package admission

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"railweave.dev/kubernetes/group"
	"railweave.dev/kubernetes/names"
	"railweave.dev/kubernetes/policy"
)

// Environment is what containers get, and the annotation that each value is read from once the pod is placed.
var Environment = [][2]string{
	{"RAILWEAVE_JOB", names.Job}, {"RAILWEAVE_POD_INDEX", names.PodIndex}, {"RAILWEAVE_RANKS", names.Ranks}, {"RAILWEAVE_NODES", names.Hosts},
	{"NCCL_IB_HCA", names.Hca},
}

// marksOf are the libraries' variables that a pod gets.
func marksOf(pod *corev1.Pod) []names.Mark {
	asks := pod.Annotations[names.Guarantee] != "" || pod.Annotations[names.QosClass] != ""
	var marks []names.Mark
	for _, mark := range names.Marks {
		if asks || !mark.Asked {
			marks = append(marks, mark)
		}
	}
	return marks
}

// Pods is the handler of both webhooks: pods of namespaces that are enrolled are changed, and all are checked.
type Pods struct {
	GpuResource string
	Rules       func() *policy.Policy
	Claims      *group.Claims               // may be nil
	Observes    func(namespace string) bool // where pods are made as they are; nil: nowhere
	Gangs       bool                        // groups are gangs of Kubernetes' own, which pods can only be made members of now
}

func (p *Pods) observes(namespace string) bool { return p.Observes != nil && p.Observes(namespace) }

// Mutate gates a pod that asks for GPUs. One that was gated by its author gets the environment alone.
func (p *Pods) Mutate(ctx context.Context, request admission.Request) admission.Response {
	pod := &corev1.Pod{}
	if err := json.Unmarshal(request.Object.Raw, pod); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if request.Operation != admissionv1.Create || p.observes(request.Namespace) {
		return admission.Allowed("")
	}
	if p.Claims != nil && len(pod.Spec.ResourceClaims) > 0 {
		counted, err := p.Claims.Of(ctx, pod, request.Namespace)
		if err != nil {
			return admission.Errored(http.StatusInternalServerError, err) // and the pod is made as it is
		}
		if counted.Missing == "" {
			Claim(pod, counted)
		}
	}
	if !Change(pod, p.GpuResource, p.Gangs) {
		return admission.Allowed("")
	}
	changed, err := json.Marshal(pod)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	return admission.PatchResponseFromRaw(request.Object.Raw, changed)
}

// Claim writes how many GPUs the pod claims, whatever it says itself.
func Claim(pod *corev1.Pod, counted group.Counted) {
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Annotations[names.ClaimedGpus] = strconv.Itoa(counted.Gpus)
	if counted.Unknown != "" {
		pod.Annotations[names.Left] = counted.Unknown
	}
}

// leave says why a pod that asks for GPUs is not gated; false where it asks for none that are known.
func leave(pod *corev1.Pod, resources string) bool {
	if pod.Annotations[names.Left] != "" {
		return true
	}
	other := group.OtherGpus(pod, resources)
	if other == "" {
		return false
	}
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Annotations[names.Left] = fmt.Sprintf("it asks for %s, and Railweave places pods by %s (--gpu-resource)", other, resources)
	return true
}

// Change does to a new pod what the webhook does; false where that is nothing.
func Change(pod *corev1.Pod, resource string, gangs bool) bool {
	if pod.Annotations[names.Skip] == "true" || pod.Spec.NodeName != "" {
		return false
	}
	if group.Gpus(pod, resource) == 0 || pod.Annotations[names.Left] != "" {
		return !group.Gated(pod) && leave(pod, resource)
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
		pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, corev1.PodResourceClaim{Name: names.ImexClaim, ResourceClaimTemplateName: &claim})
	}
	// Also of a pod that runs without a placement in the end: a variable that is read from no annotation is "".
	marks := marksOf(pod)
	for _, mark := range marks {
		if pod.Annotations == nil {
			pod.Annotations = map[string]string{}
		}
		if _, found := pod.Annotations[mark.Annotation()]; !found && mark.Unset != "" {
			pod.Annotations[mark.Annotation()] = mark.Unset
		}
	}
	for i := range pod.Spec.Containers {
		container := &pod.Spec.Containers[i]
		if asksForGpus(pod, container, resource) {
			container.Env = withPlacement(container.Env, marks)
			if claim != "" {
				container.Resources.Claims = append(container.Resources.Claims, corev1.ResourceClaim{Name: names.ImexClaim})
			}
		}
	}
	return true
}

func asksForGpus(pod *corev1.Pod, container *corev1.Container, resources string) bool {
	for resource := range strings.SplitSeq(resources, ",") {
		if _, found := container.Resources.Limits[corev1.ResourceName(resource)]; found {
			return true
		}
	}
	return group.Claimed(pod) > 0 && len(container.Resources.Claims) > 0
}

func withPlacement(env []corev1.EnvVar, marks []names.Mark) []corev1.EnvVar {
	own := map[string]bool{}
	for _, one := range env {
		own[one.Name] = true
	}
	pairs := slices.Clone(Environment)
	for _, mark := range marks {
		pairs = append(pairs, [2]string{mark.Variable, mark.Annotation()})
	}
	for _, pair := range pairs {
		if !own[pair[0]] {
			env = append(env, corev1.EnvVar{Name: pair[0], ValueFrom: &corev1.EnvVarSource{
				FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.annotations['" + pair[1] + "']"}}})
		}
	}
	return env
}

// Validate refuses what could never be placed.
func (p *Pods) Validate(_ context.Context, request admission.Request) admission.Response {
	if p.observes(request.Namespace) {
		return admission.Allowed("")
	}
	pod := &corev1.Pod{}
	if err := json.Unmarshal(request.Object.Raw, pod); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	pod.Namespace = request.Namespace
	if err := Check(pod, p.GpuResource, p.Rules()); err != nil {
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

// Check says what is wrong with a gated pod, or not allowed to its namespace, and what pods may not say of themselves.
func Check(pod *corev1.Pod, resource string, rules *policy.Policy) error {
	for _, name := range names.Written {
		if pod.Annotations[name] != "" {
			return fmt.Errorf("annotation %s is Railweave's own: leave it out", name)
		}
	}
	if !group.Gated(pod) {
		return nil
	}
	if pod.Spec.ResourceClaims != nil && pod.Annotations[names.ClaimedGpus] == "" {
		return nil // the controller counts them
	}
	demand, err := group.DemandOf(pod, resource, rules)
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
