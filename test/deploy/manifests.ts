import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseAllDocuments } from 'yaml';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** Of a network policy: which pods it is about. */
export interface PodSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values: readonly string[];
  }[];
}

/** Of a network policy: where its pods may go, and at which ports. */
export interface Egress {
  readonly to?: readonly {
    readonly ipBlock?: { readonly cidr: string; readonly except?: readonly string[] };
    readonly namespaceSelector?: object;
    readonly podSelector?: PodSelector;
  }[];
  readonly ports?: readonly { readonly port: number | string }[];
}

interface Container {
  readonly image: string;
  readonly env?: readonly { readonly name: string; readonly value?: string }[];
  readonly envFrom?: readonly { readonly configMapRef: { readonly name: string } }[];
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
  readonly lifecycle: { readonly preStop: { readonly exec: { readonly command: string[] } } };
  readonly securityContext: Readonly<Record<string, unknown>>;
  readonly resources: { readonly limits: object; readonly requests: object };
  readonly readinessProbe: { readonly httpGet: { readonly path: string } };
  readonly livenessProbe: { readonly httpGet: { readonly path: string } };
  readonly startupProbe: { readonly periodSeconds: number; readonly failureThreshold: number };
}

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace: string };
  readonly data?: Readonly<Record<string, string>>;
  readonly spec: {
    readonly egress?: readonly Egress[];
    readonly policyTypes?: readonly string[];
    readonly maxUnavailable?: number;
    readonly minAvailable?: number;
    readonly replicas?: number;
    readonly selector: { readonly matchLabels: Readonly<Record<string, string>> };
    readonly podSelector?: PodSelector;
    readonly scaleTargetRef?: { readonly name: string };
    readonly template: {
      readonly metadata: { readonly labels: Readonly<Record<string, string>> };
      readonly spec: {
        readonly containers: readonly [Container];
        readonly volumes: readonly {
          readonly name: string;
          readonly secret?: { readonly secretName: string };
        }[];
        readonly terminationGracePeriodSeconds: number;
        readonly securityContext: Readonly<Record<string, unknown>>;
      };
    };
    readonly volumeClaimTemplates?: readonly { readonly metadata: { readonly name: string } }[];
  };
}

export const OVERLAYS = [
  'testnet',
  'production',
  'production-s3',
  'production-history',
  'production-scaled',
  'production-wallet',
];
export const WORKLOADS = ['Deployment', 'StatefulSet'];

/** What `kubectl` makes of an overlay. */
export function rendered(overlay: string): readonly Manifest[] {
  const folder = `${ROOT}deploy/kubernetes/overlays/${overlay}`;
  const text = execFileSync('kubectl', ['kustomize', folder], { encoding: 'utf8' });
  return parseAllDocuments(text).map((document) => document.toJS() as Manifest);
}
