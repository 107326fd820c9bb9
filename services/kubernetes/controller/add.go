package controller

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"railweave.dev/kubernetes/group"
	"railweave.dev/kubernetes/names"
	"railweave.dev/kubernetes/placement"
	"railweave.dev/kubernetes/telling"
)

// Add puts the controller of groups into the manager: it is woken by pods, by their nodes and by events of Railweave.
func Add(mgr manager.Manager, book *placement.Book, site Site, poke func(), options Options, workers int, log logr.Logger) error {
	err := mgr.GetFieldIndexer().IndexField(context.Background(), &corev1.Pod{}, GroupIndex, func(object client.Object) []string {
		if key, relevant := options.keyOf(object); relevant {
			return []string{key.String() + "/" + key.UID}
		}
		return nil
	})
	if err != nil {
		return err
	}
	r := &Reconciler{Client: mgr.GetClient(), Book: book, Site: site, Options: options, Log: log.WithName("groups"),
		Recorder: telling.Recorder{EventRecorder: mgr.GetEventRecorder("railweave")}, telling: rate.NewLimiter(toldPerSecond, toldAtOnce), helping: rate.NewLimiter(2, 10),
		resited: make(chan struct{}, 1), counts: newCounts(),
		Owners: &group.Owners{Cached: mgr.GetClient(), Live: mgr.GetAPIReader(), Mapper: mgr.GetRESTMapper(), GpuResource: options.GpuResource, Claims: options.Claims}}
	if err := r.register(); err != nil {
		return err
	}
	options.Policy.Changed = r.wakeWaiting
	woken := make(chan event.TypedGenericEvent[group.Key], 1024)
	wake := func(key group.Key) { woken <- event.TypedGenericEvent[group.Key]{Object: key} }
	book.Changed = func(name string) {
		if key, known := r.keyOfName(name); known {
			wake(key)
		}
	}
	book.All = func() { r.wakeAll(wake) }
	if err := mgr.Add(sweeper{r, wake}); err != nil {
		return err
	}
	return builder.TypedControllerManagedBy[group.Key](mgr).Named("groups").
		Watches(&corev1.Pod{}, podHandler(&options)).
		Watches(&corev1.Node{}, r.nodeHandler(poke)).
		WatchesRawSource(source.TypedChannel(woken, handler.TypedFuncs[group.Key, group.Key]{GenericFunc: func(_ context.Context,
			one event.TypedGenericEvent[group.Key], queue workqueue.TypedRateLimitingInterface[group.Key]) {
			queue.Add(one.Object)
		}})).
		WithOptions(controller.TypedOptions[group.Key]{MaxConcurrentReconciles: workers,
			RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[group.Key](100*time.Millisecond, 30*time.Second)}).
		Complete(r)
}

// keyOf is the pod's group; pods without GPUs and gate are of none. Where Railweave only observes, pods that never were gated are
// of the groups that they would be of.
func (o *Options) keyOf(object client.Object) (group.Key, bool) {
	pod, ok := object.(*corev1.Pod)
	if !ok || group.Gpus(pod, o.GpuResource) == 0 && !group.Gated(pod) && !untold(pod) && !claims(pod) {
		return group.Key{}, false
	}
	if o.Steps.Observes(pod.Namespace) {
		return group.KeyOfTemplate(pod), true
	}
	return group.KeyOf(pod), true
}

// podHandler wakes the group that a pod belongs to, and the one that it belonged to before.
func podHandler(options *Options) handler.TypedEventHandler[client.Object, group.Key] {
	add := func(object client.Object, queue workqueue.TypedRateLimitingInterface[group.Key]) {
		if key, relevant := options.keyOf(object); relevant {
			queue.Add(key)
		}
	}
	return handler.TypedFuncs[client.Object, group.Key]{
		CreateFunc: func(_ context.Context, one event.TypedCreateEvent[client.Object], queue workqueue.TypedRateLimitingInterface[group.Key]) {
			add(one.Object, queue)
		},
		UpdateFunc: func(_ context.Context, one event.TypedUpdateEvent[client.Object], queue workqueue.TypedRateLimitingInterface[group.Key]) {
			add(one.ObjectOld, queue)
			add(one.ObjectNew, queue)
		},
		DeleteFunc: func(_ context.Context, one event.TypedDeleteEvent[client.Object], queue workqueue.TypedRateLimitingInterface[group.Key]) {
			add(one.Object, queue)
		},
	}
}

// nodeHandler wakes the groups of a node that is not well or gone, which may have to move, and those that wait for nodes.
func (r *Reconciler) nodeHandler(poke func()) handler.TypedEventHandler[client.Object, group.Key] {
	type queue = workqueue.TypedRateLimitingInterface[group.Key]
	wake := func(node client.Object, hurt, changed bool, queue queue) {
		if changed {
			r.nodesChanged.Add(1)
			r.wakeWaiting()
		}
		poke()
		if !hurt {
			return
		}
		for _, key := range r.keysWith(func(pod *corev1.Pod) bool {
			return pod.Spec.NodeName == node.GetName() || pod.Spec.NodeName == "" && !group.Gated(pod)
		}) {
			queue.Add(key)
		}
	}
	return handler.TypedFuncs[client.Object, group.Key]{
		CreateFunc: func(_ context.Context, one event.TypedCreateEvent[client.Object], queue queue) {
			wake(one.Object, hurt(one.Object.(*corev1.Node)), true, queue)
		},
		UpdateFunc: func(_ context.Context, one event.TypedUpdateEvent[client.Object], queue queue) {
			before, after := one.ObjectOld.(*corev1.Node), one.ObjectNew.(*corev1.Node)
			wake(after, hurt(after) || barred(after) && differ(before, after), differ(before, after), queue)
		},
		DeleteFunc: func(_ context.Context, one event.TypedDeleteEvent[client.Object], queue queue) {
			wake(one.Object, true, true, queue)
		},
	}
}

// wakeWaiting has all that wait looked at, soon.
func (r *Reconciler) wakeWaiting() {
	select {
	case r.resited <- struct{}{}:
	default:
	}
}

func hurt(node *corev1.Node) bool {
	why, _ := NotReady(node)
	return why != "" || node.Spec.Unschedulable || node.DeletionTimestamp != nil
}

// barred says that a node has taints that pods may have to leave, or cannot come to.
func barred(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool { return taint.Effect != corev1.TaintEffectPreferNoSchedule })
}

// differ says that other pods may run on the node than before, apart from cordons and failures, which are carried over as drains.
func differ(before, after *corev1.Node) bool {
	return !maps.Equal(before.Labels, after.Labels) || !equality.Semantic.DeepEqual(before.Spec.Taints, after.Spec.Taints) ||
		!equality.Semantic.DeepEqual(before.Status.Allocatable, after.Status.Allocatable) || before.Spec.Unschedulable != after.Spec.Unschedulable
}

func (r *Reconciler) keysWith(relevant func(*corev1.Pod) bool) []group.Key {
	var pods corev1.PodList
	if r.Client.List(context.Background(), &pods, client.UnsafeDisableDeepCopy) != nil {
		return nil
	}
	seen := map[group.Key]bool{}
	var keys []group.Key
	for i := range pods.Items {
		key, ours := r.Options.keyOf(&pods.Items[i])
		if ours && !seen[key] && relevant(&pods.Items[i]) {
			seen[key] = true
			keys = append(keys, key)
		}
	}
	return keys
}

func (r *Reconciler) wakeAll(wake func(group.Key)) {
	for _, key := range r.keysWith(func(*corev1.Pod) bool { return true }) {
		wake(key)
	}
	r.wakeSuspended(wake)
}

// wakeSuspended wakes groups of which nothing may be left but their Job.
func (r *Reconciler) wakeSuspended(wake func(group.Key)) {
	var jobs batchv1.JobList
	if r.Client.List(context.Background(), &jobs, client.UnsafeDisableDeepCopy) != nil {
		return
	}
	for i := range jobs.Items {
		if jobs.Items[i].Annotations[names.Suspended] != "" {
			wake(group.KeyOfJob(&jobs.Items[i]))
		}
	}
}

// prune forgets groups of which nothing is left once nothing of them needs to be avoided any more.
func (r *Reconciler) prune() {
	present := map[group.Key]bool{}
	for _, key := range r.keysWith(func(*corev1.Pod) bool { return true }) {
		present[key] = true
	}
	held := map[string]bool{}
	for _, name := range r.Book.Names() {
		held[name] = true
	}
	r.mutex.Lock()
	var gone []group.Key
	for key, remembered := range r.memories {
		if !present[key] && !held[remembered.name] && len(remembered.failed) > 0 {
			gone = append(gone, key)
		}
	}
	r.mutex.Unlock()
	for _, key := range gone {
		r.forget(key)
	}
}

func (r *Reconciler) keyOfName(name string) (group.Key, bool) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	key, known := r.keys[name]
	return key, known
}

// sweeper ends jobs of groups that are gone without a trace, which only happens while no controller runs, and wakes those that wait
// when nodes come or go.
type sweeper struct {
	r    *Reconciler
	wake func(group.Key)
}

func (s sweeper) NeedLeaderElection() bool { return true }

func (s sweeper) Start(ctx context.Context) error {
	absent := map[string]time.Time{}
	sweeping := time.NewTicker(min(10*time.Second, s.r.Options.Patience))
	defer sweeping.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-sweeping.C:
			s.sweep(ctx, absent)
		case <-s.r.resited:
			// Nodes come and go by the dozen: those that wait are told once.
			select {
			case <-ctx.Done():
			case <-time.After(500 * time.Millisecond):
			}
			for _, key := range s.r.keysWith(group.Gated) {
				s.wake(key)
			}
		}
	}
}

func (s sweeper) sweep(ctx context.Context, absent map[string]time.Time) {
	s.r.wakeSuspended(s.wake)
	s.r.prune()
	present := map[string]bool{}
	for _, key := range s.r.keysWith(func(*corev1.Pod) bool { return true }) {
		present[key.JobName(s.r.Options.Cluster)] = true
	}
	held := map[string]bool{}
	for _, name := range s.r.Book.Names() {
		held[name] = true
		_, known := s.r.keyOfName(name)
		if present[name] || known || !strings.HasPrefix(name, group.Prefix(s.r.Options.Cluster)) {
			delete(absent, name)
			continue
		}
		if _, seen := absent[name]; !seen {
			absent[name] = time.Now()
		} else if time.Since(absent[name]) >= s.r.Options.Patience {
			s.r.endAbsent(ctx, name)
		}
	}
	for name := range absent {
		if !held[name] {
			delete(absent, name)
		}
	}
}

func (r *Reconciler) endAbsent(ctx context.Context, name string) {
	held, err := r.Book.Held(ctx, name, 0)
	if err != nil || held == nil {
		return
	}
	const why = "its pods are gone"
	if held.Job.State == "queued" {
		err = r.Book.Client.Cancel(ctx, held.Job.ID, why)
	} else {
		err = r.Book.Client.Complete(ctx, held.Job.ID, why, true)
	}
	if err == nil {
		r.Log.Info("job ended", "name", name, "job", held.Job.ID, "reason", why)
		r.Book.Forget(name)
	}
}
