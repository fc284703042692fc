{{- define "logdirwatch.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "logdirwatch.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "logdirwatch.labels" -}}
{{ include "logdirwatch.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "logdirwatch.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{/* The folder or URL below which tables and checkpoints are. */}}
{{- define "logdirwatch.store" -}}
{{ .Values.storage.url | default "/data" | trimSuffix "/" }}
{{- end }}

{{/* logdirwatch.yaml: what the values say, and config over it. */}}
{{- define "logdirwatch.config" -}}
{{- $clusters := dict }}
{{- range $name, $cluster := .Values.clusters }}
{{- $_ := set $clusters $name (dict "bootstrap_servers" $cluster.bootstrapServers "client" ($cluster.client | default dict)) }}
{{- end }}
{{- $store := include "logdirwatch.store" . }}
{{- $config := dict
  "telemetry" (dict "bootstrap_servers" .Values.telemetry.bootstrapServers "client" .Values.telemetry.client)
  "topics" (dict "replication_factor" .Values.telemetry.replicationFactor)
  "clusters" $clusters
  "collect" (dict "listen" "0.0.0.0:9464")
  "stream" (dict "listen" "0.0.0.0:9464" "driver_memory" .Values.stream.driverMemory)
  "tables" (dict "path" (printf "%s/tables" $store))
  "checkpoints" (dict "path" (printf "%s/checkpoints" $store)) }}
{{- if .Values.notify.enabled }}
{{- $people := dict "urls_file" (printf "/etc/logdirwatch-urls/%s" .Values.notify.urlsSecret.key) }}
{{- $_ := set $config "notify" (dict "receivers" (dict "people" $people) "listen" "0.0.0.0:9464") }}
{{- end }}
{{- if and .Values.console.enabled .Values.console.login.usersSecret.name }}
{{- $login := dict "users_file" (printf "/etc/logdirwatch-console/%s" .Values.console.login.usersSecret.key) "behind_tls_proxy" .Values.console.login.behindTlsProxy }}
{{- $_ := set $config "console" (dict "login" $login) }}
{{- end }}
{{- if .Values.autopilot.enabled }}
{{- $_ := set $config "autopilot" (dict "listen" "0.0.0.0:9464" "clusters" .Values.autopilot.clusters) }}
{{- end }}
{{- mergeOverwrite $config .Values.config | toYaml }}
{{- end }}

{{/* What every pod has; call it with the root context and the part's name. */}}
{{- define "logdirwatch.metadata" -}}
labels:
  {{- include "logdirwatch.labels" .root | nindent 2 }}
  app.kubernetes.io/component: {{ .part }}
  {{- with .root.Values.podLabels }}{{ toYaml . | nindent 2 }}{{ end }}
annotations:
  checksum/config: {{ include "logdirwatch.config" .root | sha256sum }}
  {{- with .root.Values.podAnnotations }}{{ toYaml . | nindent 2 }}{{ end }}
{{- end }}

{{- define "logdirwatch.pod" -}}
# Variables of services that are named like ours would be taken for the configuration.
enableServiceLinks: false
automountServiceAccountToken: {{ ne .Values.serviceAccountName "" }}
{{- with .Values.serviceAccountName }}
serviceAccountName: {{ . }}
{{- end }}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{ toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  fsGroup: 10001
  seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "logdirwatch.container" -}}
image: {{ include "logdirwatch.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  runAsNonRoot: true
  capabilities: { drop: [ALL] }
{{- with .Values.environmentSecret }}
envFrom:
  - secretRef: { name: {{ . }} }
{{- end }}
{{- end }}

{{/* Passwords become client properties in variables of their own, which are added to those of the file: in a JSON text a
quote in a password would end it. */}}
{{- define "logdirwatch.environment" -}}
- { name: LOGDIRWATCH_CONFIG, value: /etc/logdirwatch/logdirwatch.yaml }
{{- if .Values.telemetry.passwordSecret.name }}
{{- include "logdirwatch.credentials" (dict "variable" "TELEMETRY" "of" .Values.telemetry) }}
{{- end }}
{{- range $name, $cluster := .Values.clusters }}
{{- if $cluster.passwordSecret }}
{{- include "logdirwatch.credentials" (dict "variable" (printf "CLUSTERS__%s" ($name | upper)) "of" $cluster) }}
{{- end }}
{{- end }}
{{- end }}

{{/* The user, if it is another one than the file's, and the password of one cluster; Kubernetes takes $( for a reference. */}}
{{- define "logdirwatch.credentials" }}
{{- with .of.username }}
- name: LOGDIRWATCH_{{ $.variable }}__CLIENT__sasl.username
  value: {{ . | replace "$" "$$" | toJson }}
{{- end }}
- name: LOGDIRWATCH_{{ .variable }}__CLIENT__sasl.password
  valueFrom: { secretKeyRef: { name: {{ .of.passwordSecret.name }}, key: {{ .of.passwordSecret.key | default "password" }} } }
{{- end }}

{{- define "logdirwatch.mounts" -}}
- { name: config, mountPath: /etc/logdirwatch, readOnly: true }
- { name: tmp, mountPath: /tmp }
{{- range $index, $certificate := .Values.certificates }}
- { name: certificates-{{ $index }}, mountPath: {{ $certificate.path }}, readOnly: true }
{{- end }}
{{- end }}

{{- define "logdirwatch.volumes" -}}
- name: config
  configMap: { name: {{ include "logdirwatch.name" . }} }
# All that a part writes outside of the volume of tables: temporary files, state of Spark's queries on its way.
- name: tmp
  emptyDir: {}
{{- range $index, $certificate := .Values.certificates }}
- name: certificates-{{ $index }}
  secret: { secretName: {{ $certificate.secret }} }
{{- end }}
{{- end }}

{{/* The volume of tables and checkpoints, where there is one. */}}
{{- define "logdirwatch.data" -}}
{{- if not .Values.storage.url }}
- name: data
  persistentVolumeClaim: { claimName: {{ .Values.storage.existingClaim | default (include "logdirwatch.name" .) }} }
{{- end }}
{{- end }}

{{/* A volume that one node may mount keeps its pods on the node of the stream. */}}
{{- define "logdirwatch.beside" -}}
{{- if and (not .Values.storage.url) (ne .Values.storage.accessMode "ReadWriteMany") }}
affinity:
  podAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      - topologyKey: kubernetes.io/hostname
        labelSelector:
          matchLabels:
            {{- include "logdirwatch.selector" . | nindent 12 }}
            app.kubernetes.io/component: stream
{{- end }}
{{- end }}

{{- define "logdirwatch.probes" -}}
livenessProbe:
  httpGet: { path: /health, port: metrics }
  initialDelaySeconds: {{ .delay }}
  periodSeconds: 15
  failureThreshold: 4
readinessProbe:
  httpGet: { path: /ready, port: metrics }
  periodSeconds: 10
{{- end }}

{{/* The autopilot's own users in place of those that only look, as values. */}}
{{- define "logdirwatch.autopilotUsers" -}}
{{- $clusters := dict }}
{{- range $name, $user := .Values.autopilot.users }}
{{- if not (hasKey $.Values.clusters $name) }}{{ fail (printf "autopilot.users.%s: there is no such cluster in clusters" $name) }}{{ end }}
{{- $secret := dict "name" $user.passwordSecret.name "key" ($user.passwordSecret.key | default "password") }}
{{- $_ := set $clusters $name (dict "username" $user.username "passwordSecret" $secret) }}
{{- end }}
{{- $values := dict "clusters" $clusters }}
{{- if .Values.autopilot.telemetry.passwordSecret.name }}
{{- $_ := set $values "telemetry" .Values.autopilot.telemetry }}
{{- end }}
{{- $values | toYaml }}
{{- end }}
