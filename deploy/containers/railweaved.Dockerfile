# The service, from its Debian packages. With packages that are built already (make packages), nothing is compiled:
#   docker build -f deploy/containers/railweaved.Dockerfile --build-arg PACKAGES=given -t railweaved:0.1.0 .
# Without that argument they are built in a stage of their own. BASE: any Debian 12.
ARG BASE=debian:bookworm-slim
ARG PACKAGES=built

FROM ${BASE} AS built
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates bash
COPY . /source
WORKDIR /source
RUN deploy/install-dependencies.sh && make packages && mkdir /packages && cp build/packages/*.deb /packages/

FROM scratch AS given
COPY build/packages/ /packages/

FROM ${PACKAGES} AS packages

FROM ${BASE}
# A number that Kubernetes can hold to runAsNonRoot.
RUN groupadd --gid 65532 railweave && useradd --system --uid 65532 --gid 65532 --home-dir /var/lib/railweave --no-create-home --shell /usr/sbin/nologin railweave
RUN --mount=type=bind,from=packages,source=/packages,target=/packages apt-get update && apt-get install -y --no-install-recommends /packages/railweaved_*.deb /packages/railweave_*.deb && rm -rf /var/lib/apt/lists/*
RUN install -d -o railweave -g railweave -m 700 /var/lib/railweave
USER 65532:65532
WORKDIR /var/lib/railweave
VOLUME /var/lib/railweave
EXPOSE 7470
ENTRYPOINT ["/usr/bin/railweaved"]
CMD ["--config", "/etc/railweave/railweaved.toml", "--store", "/var/lib/railweave/railweave.db"]
