{{/* The endpoint of a ServiceMonitor or PodMonitor; takes a list of the root and the monitor's values. */}}
{{- define "rollwright.endpoint" -}}
{{- $root := index . 0 }}
{{- $monitor := index . 1 }}
- port: metrics
  path: /metrics
  scheme: {{ include "rollwright.scheme" $root | lower }}
  honorLabels: {{ $monitor.honorLabels }}
  {{- with $monitor.interval }}
  interval: {{ . }}
  {{- end }}
  {{- with $monitor.scrapeTimeout }}
  scrapeTimeout: {{ . }}
  {{- end }}
  {{- with $monitor.tlsConfig }}
  tlsConfig:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $monitor.authorization }}
  authorization:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $monitor.relabelings }}
  relabelings:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $monitor.metricRelabelings }}
  metricRelabelings:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}

{{/* The metadata of an object for the monitoring stack; takes the same. */}}
{{- define "rollwright.monitoring-metadata" -}}
{{- $root := index . 0 }}
{{- $values := index . 1 }}
name: {{ include "rollwright.fullname" $root }}{{ with index . 2 }}-{{ . }}{{ end }}
namespace: {{ default (include "rollwright.namespace" $root) $values.namespace }}
labels:
  {{- include "rollwright.labels" $root | nindent 2 }}
  {{- with $values.labels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with $values.annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
