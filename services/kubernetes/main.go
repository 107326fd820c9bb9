// railweave-kubernetes lets Railweave choose the nodes of gated pods.
package main

import (
	"context"
	"crypto/tls"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"go.uber.org/zap/zapcore"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	placing "railweave.dev/kubernetes/admission"
	"railweave.dev/kubernetes/contract"
	"railweave.dev/kubernetes/controller"
	"railweave.dev/kubernetes/extender"
	"railweave.dev/kubernetes/group"
	"railweave.dev/kubernetes/kueue"
	"railweave.dev/kubernetes/names"
	"railweave.dev/kubernetes/nodes"
	"railweave.dev/kubernetes/placement"
	"railweave.dev/kubernetes/policy"
	"railweave.dev/kubernetes/telling"
)

type options struct {
	controller.Options
	server, tokenFile, caFile      string
	namespace, health, metrics     string
	webhook, labels, drains, lead  bool
	hyperNodes, kueue, gangs       bool
	webhookAddress, webhookHosts   string
	tenant                         string
	serve                          string
	workers                        int
	calm, lease                    time.Duration
	whenAway, step, namespaceSteps string
	qps                            float64
	deviceClasses                  string
}

func read() (*options, error) {
	o := &options{}
	flag.StringVar(&o.step, "step", "place", "what Railweave decides: observe, nothing: pods are the scheduler's, and events say where they would have been placed; order, the order of ranks beside that; place, the nodes of groups")
	flag.StringVar(&o.namespaceSteps, "namespace-step", "", "other steps of single namespaces, as team=observe,test=order; labels and drains are by --step alone")
	flag.StringVar(&o.server, "server", os.Getenv("RAILWEAVE_URL"), "URL of railweaved (RAILWEAVE_URL)")
	flag.StringVar(&o.tokenFile, "token-file", "", "file with an operator's token (or RAILWEAVE_TOKEN)")
	flag.StringVar(&o.caFile, "ca-file", "", "authorities of the service's certificate; the system's where it is left out")
	flag.StringVar(&o.Cluster, "cluster", "default", "this cluster's name: two clusters of one Railweave have different ones")
	flag.StringVar(&o.tenant, "tenant", "", "tenant that all namespaces charge where there is no ConfigMap "+policy.ConfigMapName+"; left out, the one of the namespace's name")
	flag.StringVar(&o.GpuResource, "gpu-resource", names.DefaultGpuResource, "resources that pods ask GPUs by, with commas between them; one is one GPU")
	flag.StringVar(&o.deviceClasses, "gpu-device-classes", names.DefaultDeviceClasses, "DeviceClasses that ResourceClaims ask GPUs by, with commas between them")
	flag.StringVar(&o.whenAway, "when-away", "lift", "what gated pods do while Railweave is away: lift, after --grace, or hold")
	flag.DurationVar(&o.Grace, "grace", 5*time.Minute, "how long Railweave may be away before gates are lifted")
	flag.DurationVar(&o.Patience, "patience", time.Minute, "how long a pinned pod may wait for its node, and a group for pods that are missing")
	flag.DurationVar(&o.NodeLost, "node-lost", 30*time.Second, "how long a node may be not ready before it is taken for lost")
	flag.DurationVar(&o.calm, "calm", time.Minute, "how long a node has to be well before a drain or cordon that was carried over is undone")
	flag.BoolVar(&o.AdoptOthers, "adopt-others", true, "Railweave holds the GPUs of pods that never were gated, too")
	flag.BoolVar(&o.labels, "labels", true, "write topology labels of nodes, and tell Railweave of those of others")
	flag.BoolVar(&o.hyperNodes, "hypernodes", false, "write Volcano's HyperNodes from the accepted fabric")
	flag.BoolVar(&o.gangs, "gangs", false, "groups are PodGroups of Kubernetes, too, where the API server has them: the scheduler binds all of their pods or none")
	flag.BoolVar(&o.kueue, "kueue", false, "answer Kueue's AdmissionChecks of controller "+kueue.ControllerName)
	flag.BoolVar(&o.drains, "drains", true, "carry drains and cordons over in both directions")
	flag.BoolVar(&o.webhook, "webhook", true, "serve the admission webhooks")
	flag.StringVar(&o.webhookAddress, "webhook-address", ":9443", "where the webhooks listen")
	flag.StringVar(&o.webhookHosts, "webhook-hosts", "railweave-kubernetes.railweave.svc", "names of the webhooks' certificate, with commas between them")
	flag.StringVar(&o.namespace, "namespace", "railweave", "namespace of the lease and the webhooks' certificate")
	flag.BoolVar(&o.lead, "leader-elect", true, "only one of several replicas acts")
	flag.DurationVar(&o.lease, "lease", 15*time.Second, "how long a leader that is gone is waited for")
	flag.StringVar(&o.health, "health-address", ":8081", "where /healthz and /readyz are; 0 for nowhere")
	flag.StringVar(&o.serve, "serve-address", "0", "where the scheduler extender (/v1/kubernetes) and UFM's list of ports (/ufmRest/resources/ports) are; 0 for nowhere")
	flag.StringVar(&o.metrics, "metrics-address", "0", "where /metrics is; 0 for nowhere")
	flag.IntVar(&o.workers, "workers", 32, "groups that are worked on at a time")
	flag.Float64Var(&o.qps, "qps", 200, "requests per second to the API server, at most")
	flag.Parse()
	switch {
	case flag.NArg() > 0:
		return nil, fmt.Errorf("%q is no option; see --help", flag.Arg(0))
	case o.server == "":
		return nil, fmt.Errorf("no service is named: give --server or RAILWEAVE_URL, for example http://127.0.0.1:7470")
	case o.whenAway != "hold" && o.whenAway != "lift":
		return nil, fmt.Errorf("--when-away is %q; it is hold or lift", o.whenAway)
	case strings.ContainsAny(o.Cluster, "/ ") || o.Cluster == "":
		return nil, fmt.Errorf("--cluster is %q; it is a name without / and blanks", o.Cluster)
	}
	o.Lift = o.whenAway == "lift"
	var err error
	if o.Steps, err = controller.ReadSteps(o.step, o.namespaceSteps); err != nil {
		return nil, fmt.Errorf("--step and --namespace-step: %w", err)
	}
	if len(o.Steps.Namespaces) > 0 && !o.AdoptOthers {
		return nil, fmt.Errorf("--namespace-step: what only is observed is adopted, so --adopt-others has to be true")
	}
	if o.Steps.Cluster != controller.Place {
		o.labels, o.drains, o.hyperNodes, o.kueue, o.AdoptOthers = false, false, false, false, true
	}
	return o, nil
}

func (o *options) contract() (*contract.Client, error) {
	token := os.Getenv("RAILWEAVE_TOKEN")
	if o.tokenFile != "" {
		text, err := os.ReadFile(o.tokenFile)
		if err != nil {
			return nil, fmt.Errorf("--token-file: %w", err)
		}
		token = strings.TrimSpace(string(text))
	}
	return contract.New(o.server, token, o.caFile)
}

// lean drops what nothing here reads: pods of a large cluster take memory.
func lean(object any) (any, error) {
	if held, ok := object.(client.Object); ok {
		held.SetManagedFields(nil)
	}
	return object, nil
}

func (o *options) manager(ctx context.Context, config *rest.Config) (manager.Manager, error) {
	settings := ctrl.Options{
		Cache: cache.Options{DefaultTransform: lean, ByObject: map[client.Object]cache.ByObject{&corev1.ConfigMap{}: {
			Namespaces: map[string]cache.Config{o.namespace: {FieldSelector: fields.OneTermEqualSelector("metadata.name", policy.ConfigMapName)}}}}},
		HealthProbeBindAddress:        o.health,
		Metrics:                       metricsserver.Options{BindAddress: o.metrics},
		LeaderElection:                o.lead,
		LeaderElectionID:              "railweave-kubernetes",
		LeaderElectionNamespace:       o.namespace,
		LeaderElectionReleaseOnCancel: true,
	}
	renew, retry := o.lease*2/3, o.lease/8
	settings.LeaseDuration, settings.RenewDeadline, settings.RetryPeriod = &o.lease, &renew, &retry
	if o.webhook {
		server, err := o.webhooks(ctx, config)
		if err != nil {
			return nil, err
		}
		settings.WebhookServer = server
	}
	return ctrl.NewManager(config, settings)
}

func (o *options) webhooks(ctx context.Context, config *rest.Config) (webhook.Server, error) {
	api, err := client.New(config, client.Options{})
	if err != nil {
		return nil, err
	}
	pair, certificate, err := placing.Certificate(ctx, api, o.namespace, strings.Split(o.webhookHosts, ","))
	if err != nil {
		return nil, err
	}
	if err := placing.Trust(ctx, api, certificate); err != nil {
		return nil, err
	}
	host, text, err := net.SplitHostPort(o.webhookAddress)
	if err != nil {
		return nil, fmt.Errorf("--webhook-address: %w", err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return nil, fmt.Errorf("--webhook-address: %w", err)
	}
	return webhook.NewServer(webhook.Options{Host: host, Port: port, TLSOpts: []func(*tls.Config){func(settings *tls.Config) {
		settings.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &pair, nil }
		settings.MinVersion = tls.VersionTLS12
	}}}), nil
}

// listener runs on every replica: it answers from what it is asked, and from the fabric.
func (o *options) listener(service *contract.Client) manager.Runnable {
	mux := http.NewServeMux()
	extender.Register(mux)
	nodes.RegisterPorts(mux, service)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, Addr: o.serve}
	return everywhere{func(ctx context.Context) error {
		context.AfterFunc(ctx, func() { server.Close() })
		if err := server.ListenAndServe(); err != http.ErrServerClosed {
			return fmt.Errorf("--serve-address: %w", err)
		}
		return nil
	}}
}

// rules reads the operator's policy, and keeps it as it is from then on: on every replica, as its webhooks ask for it.
func (o *options) rules(ctx context.Context, mgr manager.Manager, log logr.Logger) error {
	o.Policy = &policy.Source{Tenant: o.tenant, Log: log.WithName("policy"), Recorder: telling.Recorder{EventRecorder: mgr.GetEventRecorder("railweave")}}
	if err := o.Policy.Load(ctx, mgr.GetAPIReader(), o.namespace); err != nil {
		return err
	}
	o.Claims = &group.Claims{Live: mgr.GetAPIReader(), Classes: o.deviceClasses}
	return nil
}

func run() error {
	o, err := read()
	if err != nil {
		return err
	}
	log := zap.New(zap.UseDevMode(false), zap.StacktraceLevel(zapcore.PanicLevel))
	ctrl.SetLogger(log)
	ctx := ctrl.SetupSignalHandler()
	service, err := o.contract()
	if err != nil {
		return err
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	config.QPS, config.Burst = float32(o.qps), int(2*o.qps)
	mgr, err := o.manager(ctx, config)
	if err != nil {
		return err
	}
	if err := o.rules(ctx, mgr, log); err != nil {
		return err
	}
	syncer := &nodes.Syncer{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Mapper: mgr.GetRESTMapper(), HyperNodes: o.hyperNodes, Contract: service, Log: log.WithName("nodes"), NotReady: controller.NotReady, Every: 10 * time.Second,
		NodeLost: o.NodeLost, Calm: o.calm, Labels: o.labels, Drains: o.drains, GpuResource: o.GpuResource}
	book := &placement.Book{Client: service, Cluster: o.Cluster, Log: log.WithName("jobs"), Event: syncer.Seen}
	if err := controller.Add(mgr, book, syncer, syncer.Poke, o.Options, o.workers, log); err != nil {
		return err
	}
	follow := everywhere{func(ctx context.Context) error { return o.Policy.Follow(ctx, mgr.GetCache()) }}
	for _, one := range []manager.Runnable{leading{book.Start}, leading{syncer.Start}, follow} {
		if err := mgr.Add(one); err != nil {
			return err
		}
	}
	if o.kueue {
		checks := &kueue.Checks{Client: mgr.GetClient(), Contract: service, Site: syncer, Log: log.WithName("kueue"), Cluster: o.Cluster, Rules: o.Rules,
			GpuResource: o.GpuResource}
		if err := checks.Add(ctx, mgr); err != nil {
			return err
		}
	}
	if o.serve != "0" {
		if err := mgr.Add(o.listener(service)); err != nil {
			return err
		}
	}
	if o.webhook {
		pods := &placing.Pods{GpuResource: o.GpuResource, Rules: o.Rules, Claims: o.Claims, Observes: o.Steps.Observes}
		if o.gangs {
			_, err := mgr.GetRESTMapper().RESTMapping(controller.GangKind)
			if pods.Gangs = err == nil; !pods.Gangs {
				log.Info("--gangs: the API server has no PodGroups; groups are ungated as wholes instead", "reason", err.Error())
			}
		}
		mgr.GetWebhookServer().Register("/mutate-pods", &admission.Webhook{Handler: admission.HandlerFunc(pods.Mutate)})
		mgr.GetWebhookServer().Register("/validate-pods", &admission.Webhook{Handler: admission.HandlerFunc(pods.Validate)})
	}
	if err := mgr.AddHealthzCheck("alive", healthz.Ping); err != nil {
		return err
	}
	if err := mgr.AddReadyzCheck("ready", healthz.Ping); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// leading runs on the leader alone.
type leading struct{ start func(context.Context) error }

func (l leading) Start(ctx context.Context) error { return l.start(ctx) }
func (l leading) NeedLeaderElection() bool        { return true }

// everywhere runs on every replica.
type everywhere struct{ start func(context.Context) error }

func (e everywhere) Start(ctx context.Context) error { return e.start(ctx) }
func (e everywhere) NeedLeaderElection() bool        { return false }

func main() {
	if err := run(); err != nil {
		fmt.Fprintf(os.Stderr, "railweave-kubernetes: %v\n", err)
		os.Exit(1)
	}
}
