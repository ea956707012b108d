{{/* The settings that are files of a secret, as `SETTING: key of the secret`. */}}
{{- define "x402.files" -}}
redis: { REDIS_URL_FILE: url }
queue-redis: { QUEUE_REDIS_URL_FILE: url }
hub-redis: { HUB_REDIS_URL_FILE: url }
wallet-redis: { WALLET_REDIS_URL_FILE: url }
database: { DATABASE_URL_FILE: url }
rpc:
{{- range .Values.chains }}
  RPC_URLS_{{ int64 . }}_FILE: {{ int64 . | quote }}
{{- end }}
signers: { SIGNER_KEYS_FILE: keys }
api-keys: { API_KEYS_FILE: keys.json }
webhooks: { WEBHOOK_KEY_FILE: key }
hub-s3: { HUB_S3_ACCESS_KEY_ID_FILE: access-key-id, HUB_S3_SECRET_ACCESS_KEY_FILE: secret-access-key }
wallet: { WALLET_TOKEN_SECRET_FILE: token, WALLET_SEAL_SECRET_FILE: seal, WALLET_KEYSTORE_SECRET_FILE: keystore }
{{- end }}

{{/* The roles that are on: their secrets, their settings, and which way out of the cluster they have. */}}
{{- define "x402.roles" -}}
{{- $values := .Values }}
{{- $history := $values.history }}
{{- $chains := list }}
{{- range $values.chains }}{{ $chains = append $chains (printf "eip155:%d" (int64 .)) }}{{ end }}
{{- $networks := join "," $chains }}
{{- $ledger := list "redis" "rpc" }}
{{- if $values.queueRedis }}{{ $ledger = append $ledger "queue-redis" }}{{ end }}
{{- if $history.enabled }}{{ $ledger = append $ledger "database" }}{{ end }}
{{- $told := list }}
{{- if $values.apiKeys }}{{ $told = append $told "api-keys" }}{{ end }}
{{- if $history.webhooks }}{{ $told = append $told "webhooks" }}{{ end -}}
api:
  secrets: {{ concat $ledger $told | toJson }}
  settings: { NETWORKS: {{ $networks | quote }} }
  egress: public
  hasService: true
worker:
  # What answers the world has no keys.
  secrets: {{ append $ledger "signers" | toJson }}
  settings: { NETWORKS: {{ $networks | quote }} }
  egress: public
{{- if $history.enabled }}
history:
  {{- /* Whom an event may go to is looked up again when it is sent. */}}
  secrets: {{ $history.webhooks | ternary (concat $ledger $told) $ledger | toJson }}
  settings:
    NETWORKS: {{ $networks | quote }}
    {{- with $history.reconcileAt }}
    RECONCILE_AT: {{ . | quote }}
    {{- end }}
  {{- if or $history.webhooks $history.reconcileAt }}
  egress: public
  {{- end }}
{{- end }}
{{- if $values.hub.enabled }}
hub:
  hasService: true
  {{- with $values.hub.s3 }}
  {{- if .bucket }}
  secrets: [hub-redis, hub-s3]
  settings:
    HUB_STORAGE: s3
    HUB_S3_BUCKET: {{ .bucket | quote }}
    {{- with .region }}
    HUB_S3_REGION: {{ . | quote }}
    {{- end }}
  egress: public
  {{- else }}
  secrets: [hub-redis]
  settings: { HUB_STORAGE: fs, HUB_DATA_DIR: /data/hub }
  hasOneWriter: true
  {{- end }}
  {{- end }}
{{- end }}
{{- if $values.wallet.enabled }}
wallet:
  secrets: [wallet-redis, rpc, wallet]
  settings:
    NETWORKS: {{ $networks | quote }}
    WALLET_PUBLIC_URL: {{ $values.wallet.publicUrl | quote }}
    WALLET_PROVIDER: local
    WALLET_AUDIT_DIR: /data/audit
    WALLET_KEYSTORE_DIR: /data/keys
  # Sellers by http too.
  egress: web
  hasService: true
{{- end }}
{{- end }}

{{/* The settings of one role. What the chart decides, `settings` of all, those of the role: the later wins. */}}
{{- define "x402.settings" -}}
{{- $root := index . 0 }}
{{- $role := index . 1 }}
{{- $has := index . 2 }}
{{- $settings := dict "SHUTDOWN_GRACE_MS" "20000" }}
{{- $files := include "x402.files" $root | fromYaml }}
{{- range $secret := $has.secrets }}
{{- range $name, $key := index $files $secret }}
{{- $_ := set $settings $name (printf "/run/secrets/%s/%s" $secret $key) }}
{{- end }}
{{- end }}
{{- range $given := list $has.settings $root.Values.settings (index $root.Values $role).settings }}
{{- range $name, $value := $given }}
{{- $_ := set $settings $name $value }}
{{- end }}
{{- end }}
{{- $_ := set $settings "ROLES" $role }}
{{- $_ := set $settings "PORT" "4022" }}
{{- $_ := set $settings "OPS_PORT" "4023" }}
{{- $_ := set $settings "OPS_HOST" "0.0.0.0" }}
{{- toYaml $settings }}
{{- end }}

{{/* The labels that find the pods of a role. */}}
{{- define "x402.selector" -}}
app.kubernetes.io/name: x402-settle
app.kubernetes.io/instance: {{ (index . 0).Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{/* Name and labels of an object that belongs to a role. */}}
{{- define "x402.metadata" -}}
name: {{ (index . 0).Release.Name }}-{{ index . 1 }}
labels:
  {{- include "x402.selector" . | nindent 2 }}
  app.kubernetes.io/part-of: x402
{{- end }}
