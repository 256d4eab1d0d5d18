{{/* Seconds of a time such as 15s. */}}
{{- define "rollwright.seconds" -}}
{{- mul (regexFind "^[0-9]+" . | int) (get (dict "s" 1 "m" 60 "h" 3600) (regexFind "[smh]$" .)) }}
{{- end }}

{{/* Values that are wrong only together, which the schema cannot express well. */}}
{{- define "rollwright.check" -}}
{{- $values := .Values }}
{{- if and (gt (int $values.replicaCount) 1) (not $values.leaderElection.enabled) }}
{{- fail "replicaCount: more than one operator needs leaderElection.enabled=true" }}
{{- end }}
{{- if and (not $values.leaderElection.enabled) (ne (dig "type" "" $values.strategy) "Recreate") }}
{{- fail "leaderElection.enabled: without an election an old and a new pod must never run together; set strategy.type=Recreate" }}
{{- end }}
{{- if and $values.selector $values.watchNamespaces }}
{{- fail "selector: not together with watchNamespaces; choose namespaces by their labels or by their names" }}
{{- end }}
{{- if and $values.changedBy.enabled (semverCompare "<1.36.0-0" .Capabilities.KubeVersion.Version) }}
{{- fail "changedBy.enabled: needs Kubernetes 1.36 or later, which has MutatingAdmissionPolicies" }}
{{- end }}
{{- $lease := include "rollwright.seconds" $values.leaderElection.leaseDuration | int }}
{{- $renew := include "rollwright.seconds" $values.leaderElection.renewDeadline | int }}
{{- $retry := include "rollwright.seconds" $values.leaderElection.retryPeriod | int }}
{{- if le $lease $renew }}
{{- fail "leaderElection.leaseDuration: must be longer than leaderElection.renewDeadline, or two operators could lead" }}
{{- end }}
{{- if le (mul $renew 10) (mul $retry 12) }}
{{- fail "leaderElection.renewDeadline: must be longer than 1.2 times leaderElection.retryPeriod" }}
{{- end }}
{{- if and $values.metrics.tls.enabled (not $values.metrics.tls.secretName) }}
{{- fail "metrics.tls.secretName: metrics.tls.enabled needs the name of a Secret of type kubernetes.io/tls" }}
{{- end }}
{{- if and $values.metrics.serviceMonitor.enabled $values.metrics.podMonitor.enabled }}
{{- fail "metrics.podMonitor.enabled: not together with metrics.serviceMonitor.enabled, each pod would be scraped twice" }}
{{- end }}
{{- if and $values.metrics.serviceMonitor.enabled (not $values.metrics.enabled) }}
{{- fail "metrics.serviceMonitor.enabled: a ServiceMonitor needs the Service that metrics.enabled=true makes; metrics.podMonitor needs none" }}
{{- end }}
{{- $budget := $values.podDisruptionBudget }}
{{- if and (not (kindIs "invalid" $budget.minAvailable)) (not (kindIs "invalid" $budget.maxUnavailable)) }}
{{- fail "podDisruptionBudget: set minAvailable or maxUnavailable, not both" }}
{{- end }}
{{- $trusted := or $values.rbac.create $values.changedBy.enabled }}
{{- if and $trusted (not $values.serviceAccount.create) (not $values.serviceAccount.name) }}
{{- fail "serviceAccount.name: with serviceAccount.create=false, name the account; the chart does not give rights to `default`" }}
{{- end }}
{{- end }}
