{{/* The operator's pod, and the flags of `rollwright run`. */}}

{{- define "rollwright.pod" -}}
serviceAccountName: {{ include "rollwright.service-account" . }}
automountServiceAccountToken: {{ .Values.serviceAccount.automount }}
enableServiceLinks: false
terminationGracePeriodSeconds: {{ .Values.terminationGracePeriodSeconds }}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- if .Values.hostNetwork }}
hostNetwork: true
{{- end }}
{{- if or .Values.dnsPolicy .Values.hostNetwork }}
dnsPolicy: {{ default "ClusterFirstWithHostNet" .Values.dnsPolicy }}
{{- end }}
{{- with .Values.podSecurityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.initContainers }}
initContainers:
  {{- toYaml . | nindent 2 }}
{{- end }}
containers:
  - name: rollwright
    image: {{ include "rollwright.image" . | quote }}
    imagePullPolicy: {{ .Values.image.pullPolicy }}
    args:
      {{- include "rollwright.args" . | nindent 6 }}
    {{- with .Values.extraEnv }}
    env:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    ports:
      - name: metrics
        containerPort: {{ .Values.metrics.port }}
        protocol: TCP
    livenessProbe:
      httpGet:
        path: /livez
        port: metrics
        scheme: {{ include "rollwright.scheme" . }}
      {{- toYaml .Values.livenessProbe | nindent 6 }}
    readinessProbe:
      httpGet:
        path: /readyz
        port: metrics
        scheme: {{ include "rollwright.scheme" . }}
      {{- toYaml .Values.readinessProbe | nindent 6 }}
    {{- with .Values.startupProbe }}
    startupProbe:
      httpGet:
        path: /livez
        port: metrics
        scheme: {{ include "rollwright.scheme" $ }}
      {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- with .Values.resources }}
    resources:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- with .Values.securityContext }}
    securityContext:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- if or .Values.metrics.tls.enabled .Values.extraVolumeMounts }}
    volumeMounts:
      {{- if .Values.metrics.tls.enabled }}
      - name: metrics-tls
        mountPath: /etc/rollwright/metrics-tls
        readOnly: true
      {{- end }}
      {{- with .Values.extraVolumeMounts }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
    {{- end }}
  {{- with .Values.extraContainers }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- if or .Values.metrics.tls.enabled .Values.extraVolumes }}
volumes:
  {{- if .Values.metrics.tls.enabled }}
  - name: metrics-tls
    secret:
      secretName: {{ .Values.metrics.tls.secretName }}
  {{- end }}
  {{- with .Values.extraVolumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}
{{- include "rollwright.scheduling" . }}
{{- end }}

{{- define "rollwright.args" -}}
- run
- --api={{ join "," .Values.controller.apis }}
{{- range .Values.watchNamespaces }}
- --watch-namespace={{ . }}
{{- end }}
{{- with .Values.selector }}
- {{ printf "--selector=%s" . | quote }}
{{- end }}
- --adopt={{ .Values.controller.adopt }}
- --workers={{ .Values.controller.workers }}
- --blocked-after={{ .Values.controller.blockedAfter }}
{{- if .Values.controller.terminationMessages }}
- --termination-messages
{{- end }}
{{- if .Values.controller.jobs }}
- --jobs
{{- end }}
- --bind-address=:{{ .Values.metrics.port }}
- --stalled-after={{ .Values.controller.stalledAfter }}
- --leader-elect={{ .Values.leaderElection.enabled }}
{{- if .Values.leaderElection.enabled }}
- --leader-elect-lease-duration={{ .Values.leaderElection.leaseDuration }}
- --leader-elect-renew-deadline={{ .Values.leaderElection.renewDeadline }}
- --leader-elect-retry-period={{ .Values.leaderElection.retryPeriod }}
- --leader-elect-resource-namespace={{ include "rollwright.namespace" . }}
- --leader-elect-resource-name={{ include "rollwright.lease" . }}
{{- end }}
{{- if .Values.controller.force }}
- --force
{{- end }}
{{- if .Values.controller.debugState }}
- --debug-state
{{- end }}
{{- if not .Values.metrics.objectMetrics }}
- --object-metrics=false
{{- end }}
{{- if not .Values.metrics.namespaceMetrics }}
- --namespace-metrics=false
{{- end }}
{{- if ne .Values.metrics.auth "none" }}
- --metrics-auth={{ .Values.metrics.auth }}
{{- end }}
{{- if .Values.metrics.tls.enabled }}
- --metrics-tls-cert-file=/etc/rollwright/metrics-tls/tls.crt
- --metrics-tls-key-file=/etc/rollwright/metrics-tls/tls.key
{{- end }}
- --log-level={{ .Values.controller.logLevel }}
- --log-format={{ .Values.controller.logFormat }}
{{- range .Values.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end }}

{{- define "rollwright.scheduling" -}}
{{- $selector := printf "%s\napp.kubernetes.io/component: operator" (include "rollwright.selector" .) | fromYaml }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- if .Values.affinity }}
affinity:
  {{- toYaml .Values.affinity | nindent 2 }}
{{- else if gt (int .Values.replicaCount) 1 }}
affinity:
  podAntiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 100
        podAffinityTerm:
          topologyKey: kubernetes.io/hostname
          labelSelector:
            matchLabels:
              {{- toYaml $selector | nindent 14 }}
{{- end }}
{{- with .Values.topologySpreadConstraints }}
topologySpreadConstraints:
  {{- range . }}
  - {{ toYaml (merge (dict) . (dict "labelSelector" (dict "matchLabels" $selector))) | nindent 4 | trim }}
  {{- end }}
{{- end }}
{{- end }}
