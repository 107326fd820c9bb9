# The controller for Kubernetes: a static program, and the authorities of certificates.
#   docker build -f deploy/containers/railweave-kubernetes.Dockerfile -t railweave-kubernetes:0.1.0 services/kubernetes
ARG GO=golang:1.26-bookworm
ARG BASE=gcr.io/distroless/static-debian12:nonroot

FROM ${GO} AS built
COPY . /source
WORKDIR /source
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o /railweave-kubernetes .

FROM ${BASE}
COPY --from=built /railweave-kubernetes /railweave-kubernetes
USER 65532:65532
EXPOSE 8080 8081 9443
ENTRYPOINT ["/railweave-kubernetes"]
