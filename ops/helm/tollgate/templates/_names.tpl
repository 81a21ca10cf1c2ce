{{/* Name of the release's objects: the release name if it contains "tollgate", else with "-tollgate" appended. */}}
{{- define "tollgate.name" -}}
{{- if contains "tollgate" .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{ else }}{{ printf "%s-tollgate" .Release.Name | trunc 40 | trimSuffix "-" }}{{ end }}
{{- end }}

{{/* Labels of a component's pods that never change. Takes root and component. */}}
{{- define "tollgate.selector" -}}
app.kubernetes.io/name: tollgate
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "tollgate.labels" -}}
{{ include "tollgate.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end }}

{{/* Labels of every pod of the release. */}}
{{- define "tollgate.pods" -}}
app.kubernetes.io/name: tollgate
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* An image reference by digest, or by tag if there is no digest. Takes image and tag. */}}
{{- define "tollgate.imageOf" -}}
{{- if .image.digest }}{{ .image.repository }}@{{ .image.digest }}{{ else }}{{ .image.repository }}:{{ .image.tag | default .tag }}{{ end }}
{{- end }}

{{- define "tollgate.image" -}}
{{ include "tollgate.imageOf" (dict "image" .Values.image "tag" .Chart.AppVersion) }}
{{- end }}

{{/* Enabled pools with their defaults applied, as YAML. */}}
{{- define "tollgate.pools" -}}
{{- $pools := dict }}
{{- range $name, $pool := .Values.workers }}
{{- $whole := mergeOverwrite (deepCopy $.Values.workerDefaults) (deepCopy ($pool | default dict)) }}
{{- if $whole.enabled }}{{ $_ := set $pools $name $whole }}{{ end }}
{{- end }}
{{- toYaml $pools }}
{{- end }}

{{- define "tollgate.catalogMap" -}}
{{- if .Values.catalog.existingConfigMap }}{{ .Values.catalog.existingConfigMap }}{{ else if .Values.catalog.text }}{{ include "tollgate.name" . }}-catalog{{ end }}
{{- end }}

{{/* The ${NAME} variables of the catalog, sorted and comma-separated. */}}
{{- define "tollgate.variables" -}}
{{- $names := .Values.catalog.variables }}
{{- range regexFindAll "\\$\\{[A-Za-z_][A-Za-z0-9_]*" .Values.catalog.text -1 }}
{{- $names = append $names (trimPrefix "${" .) }}
{{- end }}
{{- $names | uniq | sortAlpha | join "," }}
{{- end }}

{{/* Settings for the API only, as YAML: a worker with only part of the OpenID settings would not start. */}}
{{- define "tollgate.apiSettings" -}}
{{- range $key, $value := .Values.settings }}
{{- if and $value (hasPrefix "OIDC_" $key) }}
{{ $key }}: {{ $value | quote }}
{{- end }}
{{- end }}
{{- end }}
