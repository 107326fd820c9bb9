{{- define "railweave.labels" -}}
app.kubernetes.io/name: railweave
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}
{{- define "railweave.serviceSelector" -}}
app.kubernetes.io/instance: {{ .Release.Name }}
app: railweaved
{{- end }}
{{- define "railweave.image" -}}
{{ .image.repository }}:{{ .image.tag | default .context.Chart.AppVersion }}
{{- end }}
{{- define "railweave.configuration" -}}
listen_address = "0.0.0.0"
listen_port = 7470
store = {{ required "service.store: postgresql://railweave@db:5432/railweave" .Values.service.store | toJson }}
tls_certificate = "/etc/railweave/tls/tls.crt"
tls_key = "/etc/railweave/tls/tls.key"
admin_token_file = "/var/lib/railweave/admin-token"
host_names = {{ concat (list "railweaved" (printf "railweaved.%s" .Release.Namespace) (printf "railweaved.%s.svc" .Release.Namespace) (printf "railweaved.%s.svc.cluster.local" .Release.Namespace)) (include "railweave.replicaNames" . | fromJsonArray) .Values.service.hostNames | toJson }}
log_level = {{ .Values.service.logLevel | toJson }}
{{- with .Values.service.configuration }}
{{ . }}
{{- end }}
[replica]
ca_file = "/etc/railweave/tls/ca.crt"
{{- with .Values.service.tables }}
{{ . }}
{{- end }}
{{- end }}
{{- define "railweave.replicaNames" -}}
{{- $names := list }}
{{- range $i := until (int .Values.service.replicas) }}
{{- $names = append $names (printf "railweaved-%d.railweaved-replicas.%s.svc" $i $.Release.Namespace) }}
{{- end }}
{{- toJson $names }}
{{- end }}
