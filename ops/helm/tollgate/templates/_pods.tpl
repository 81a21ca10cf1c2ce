{{/* Part of the spec of every pod. */}}
{{- define "tollgate.podSecurity" -}}
automountServiceAccountToken: false
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 1000
  runAsGroup: 1000
  fsGroup: 1000
  seccompProfile:
    type: RuntimeDefault
{{- end }}

{{- define "tollgate.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end }}

{{/* After SIGTERM a process exits within DRAIN_SECONDS + 15 s (an API process is "unready" for 5 s of them). This allows twice that margin. */}}
{{- define "tollgate.grace" -}}
terminationGracePeriodSeconds: {{ add (int .Values.settings.DRAIN_SECONDS) 30 }}
{{- end }}

{{/* Node selection of a pod. Takes the values of the API or a pool. */}}
{{- define "tollgate.placement" -}}
{{- with .nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Annotations by which Prometheus finds pods without its operator. Takes root, port, and more annotations. */}}
{{- define "tollgate.annotations" -}}
{{- if not .root.Values.monitoring.enabled }}
prometheus.io/scrape: "true"
prometheus.io/port: {{ .port | quote }}
prometheus.io/path: /metrics
{{- end }}
# Settings are read once: new settings require new pods.
checksum/settings: {{ list .root.Values.settings (include "tollgate.variables" .root) | toJson | sha256sum }}
{{- with .more }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Volumes of API and worker pods, and additional ones. Takes values, and the name of the catalog's ConfigMap or nothing. */}}
{{- define "tollgate.volumes" -}}
{{- with .catalogMap }}
- name: catalog
  configMap: { name: {{ . }} }
{{- end }}
- name: scratch
  emptyDir: { sizeLimit: {{ .values.scratch }} }
- name: temporary
  emptyDir: { sizeLimit: {{ .values.temporary }} }
{{- with .values.volumes }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "tollgate.mounts" -}}
{{- if .catalogMap }}
- { name: catalog, mountPath: /app/catalog, readOnly: true }
{{- end }}
- { name: scratch, mountPath: /data }
- { name: temporary, mountPath: /tmp }
{{- with .values.volumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "tollgate.env" -}}
{{- if .catalogMap }}
- { name: TOLLGATE_CONFIG, value: /app/catalog/tollgate.yaml }
{{- end }}
{{- range $name, $value := .values.env }}
- { name: {{ $name }}, value: {{ $value | quote }} }
{{- end }}
{{- end }}

{{/* Address of the API for a worker without a database. Takes root, the name of the pool and its values. */}}
{{- define "tollgate.workerApi" -}}
{{- if .values.api }}{{ .values.api }}
{{- else if .root.Values.api.enabled }}http://{{ include "tollgate.name" .root }}-api:{{ .root.Values.api.service.port }}
{{- else }}{{ fail (printf "workers.%s.api is required where api.enabled is false: the address of the installation" .pool) }}
{{- end }}
{{- end }}
