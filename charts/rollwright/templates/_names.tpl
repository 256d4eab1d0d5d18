{{/* Names and labels of the objects. */}}

{{- define "rollwright.chart-name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "rollwright.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" }}
{{- else if contains (include "rollwright.chart-name" .) .Release.Name }}
{{- .Release.Name | trunc 52 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "rollwright.chart-name" .) | trunc 52 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "rollwright.namespace" -}}
{{- default .Release.Namespace .Values.namespaceOverride }}
{{- end }}

{{- define "rollwright.selector" -}}
app.kubernetes.io/name: {{ include "rollwright.chart-name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "rollwright.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "rollwright.selector" . }}
app.kubernetes.io/version: {{ default .Chart.AppVersion .Values.image.tag | trunc 63 | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "rollwright.service-account" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "rollwright.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{/* A chart of a release names its own image by digest, in an annotation: that is a default, so that
whatever a user sets wins. */}}
{{- define "rollwright.image" -}}
{{- $image := .Values.image }}
{{- $repository := printf "%s%s" (ternary (printf "%s/" $image.registry) "" (ne $image.registry "")) $image.repository }}
{{- $released := default "" (index .Chart.Annotations "rollwright.dev/image") }}
{{- if $image.digest }}
{{- printf "%s%s@%s" $repository (ternary (printf ":%s" $image.tag) "" (ne $image.tag "")) $image.digest }}
{{- else if and (not $image.tag) (hasPrefix (printf "%s@" $repository) $released) }}
{{- $released }}
{{- else }}
{{- printf "%s:%s" $repository (default .Chart.AppVersion $image.tag) }}
{{- end }}
{{- end }}

{{/* As `rollwright run` makes it; here too, since a role names it. */}}
{{- define "rollwright.lease" -}}
{{- $values := .Values }}
{{- if $values.leaderElection.resourceName }}
{{- $values.leaderElection.resourceName }}
{{- else if $values.selector }}
{{- printf "rollwright-%s" ($values.selector | nospace | sha256sum | trunc 10) }}
{{- else -}}
rollwright
{{- end }}
{{- end }}

{{- define "rollwright.scheme" -}}
{{- ternary "HTTPS" "HTTP" .Values.metrics.tls.enabled }}
{{- end }}
