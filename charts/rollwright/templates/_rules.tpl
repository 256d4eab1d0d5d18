{{/* What the operator may do to Deployments and what they need, in a namespace or in all.
     docs/how-to/security.md has the reason for each verb, and a test that none of them is idle. */}}
{{- define "rollwright.rules" -}}
{{- range $group := .Values.controller.apis }}
{{- $group = first (splitList "/" $group) }}
- apiGroups: [{{ $group }}]
  resources: [deployments]
  verbs: [get, list, watch, patch]
- apiGroups: [{{ $group }}]
  resources: [deployments/status]
  verbs: [patch]
- apiGroups: [{{ $group }}]
  resources: [deployments/finalizers]
  verbs: [update]
{{- end }}
- apiGroups: [apps]
  resources: [replicasets]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [""]
  resources: [pods]
  verbs: [list, watch]
- apiGroups: [""]
  resources: [events]
  verbs: [list, create, patch]
{{- if .Values.controller.jobs }}
- apiGroups: [batch]
  resources: [jobs]
  verbs: [get, list, watch, create, delete]
{{- end }}
{{- end }}
