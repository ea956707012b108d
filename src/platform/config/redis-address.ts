/** The address of a server. */
export interface RedisHost {
  /** A host name or an address; IPv6 without brackets. */
  readonly host: string;
  readonly port: number;
}

interface Account {
  readonly isTls: boolean;
  readonly username: string | undefined;
  readonly password: string | undefined;
}

/** One primary at a fixed address. */
interface PrimaryAddress {
  readonly kind: 'primary';
  readonly url: string;
}

/** A primary that Sentinels monitor by a name. After a failover another server has the name. */
export interface SentinelAddress extends Account {
  readonly kind: 'sentinel';
  readonly sentinels: readonly RedisHost[];
  /** The name in the Sentinels: `sentinel monitor <master> …`. */
  readonly master: string;
  readonly database: number;
  /** Credentials for the Sentinels themselves. */
  readonly sentinelUsername: string | undefined;
  readonly sentinelPassword: string | undefined;
}

/** A Redis Cluster. Each of its nodes knows the owners of all slots. */
export interface ClusterAddress extends Account {
  readonly kind: 'cluster';
  readonly nodes: readonly RedisHost[];
}

export type RedisAddress = PrimaryAddress | SentinelAddress | ClusterAddress;

type ReadAddress =
  | { readonly address: RedisAddress; readonly problems: readonly [] }
  | { readonly address: undefined; readonly problems: readonly string[] };

const FORMS =
  'must be redis://host:port/db, redis+sentinel://host:port,host:port/master/db or redis+cluster://host:port,host:port, with rediss for TLS';
const SENTINEL_PORT = 26_379;
const NODE_PORT = 6379;
const HOSTS_MAX = 32;
const DATABASE_MAX = 9999;
const PARTS =
  /^rediss?\+sentinel:\/\/(?:([^@/?#]*)@)?([^@/?#]*)(?:\/([^/?#]*))?(?:\/([^/?#]*))?\/?(?:\?([^#]*))?$/;
const CLUSTER_PARTS = /^rediss?\+cluster:\/\/(?:([^@/?#]*)@)?([^@/?#]*)\/?$/;
/** `host`, `host:port`, `[IPv6]`, `[IPv6]:port`. */
const HOST = /^(?:\[([\da-fA-F:.]+)\]|([\w.-]+))(?::(\d{1,5}))?$/;

/**
 * Reads the URL of a Redis. Errors never repeat the text, because it may contain a password.
 *
 * @param text - `redis://[user:password@]host[:port][/db]`, or
 *   `redis+sentinel://[user:password@]host[:port],…/master[/db][?sentinelUser=…&sentinelPassword=…]`, or
 *   `redis+cluster://[user:password@]host[:port],…`. With `rediss`, all connections use TLS. User, password and query
 *   are percent-encoded.
 */
export function readRedisAddress(text: string): ReadAddress {
  if (/^rediss?:\/\//.test(text)) {
    return URL.canParse(text)
      ? { address: { kind: 'primary', url: text }, problems: [] }
      : failed([FORMS]);
  }
  return readClusterAddress(text) ?? readSentinelAddress(text);
}

function readSentinelAddress(text: string): ReadAddress {
  const parts = PARTS.exec(text);
  if (parts === null) return failed([FORMS]);
  const [, user = '', hosts = '', master = '', database = '', query = ''] = parts;
  const problems: string[] = [];
  const account = readAccount(user, problems);
  const sentinels = readHosts(hosts, SENTINEL_PORT, problems);
  if (!/^[\w.-]+$/.test(master)) {
    problems.push('must name the primary behind its Sentinels: redis+sentinel://host:port/master');
  }
  if (!/^\d{0,4}$/.test(database)) {
    problems.push(`must have a number from 0 to ${DATABASE_MAX} as its database`);
  }
  const own = readQuery(query, problems);
  if (problems.length > 0) return failed(problems);
  const address: SentinelAddress = {
    kind: 'sentinel',
    isTls: text.startsWith('rediss'),
    ...account,
    sentinels,
    master,
    database: Number(database),
    ...own,
  };
  return { address, problems: [] };
}

function readClusterAddress(text: string): ReadAddress | undefined {
  const parts = CLUSTER_PARTS.exec(text);
  if (parts === null) return undefined;
  const [, user = '', hosts = ''] = parts;
  const problems: string[] = [];
  const account = readAccount(user, problems);
  const nodes = readHosts(hosts, NODE_PORT, problems);
  if (problems.length > 0) return failed(problems);
  const isTls = text.startsWith('rediss');
  return { address: { kind: 'cluster', isTls, ...account, nodes }, problems: [] };
}

const failed = (problems: readonly string[]): ReadAddress => ({ address: undefined, problems });

/** @param text - `user:password`, `:password` or `user`. */
function readAccount(text: string, problems: string[]): Omit<Account, 'isTls'> {
  const colon = text.indexOf(':');
  try {
    return {
      username: decodeURIComponent(colon < 0 ? text : text.slice(0, colon)) || undefined,
      password: colon < 0 ? undefined : decodeURIComponent(text.slice(colon + 1)) || undefined,
    };
  } catch {
    problems.push('must have its user and password percent-encoded');
    return { username: undefined, password: undefined };
  }
}

function readHosts(text: string, defaultPort: number, problems: string[]): readonly RedisHost[] {
  const found = text.split(',').map((one): RedisHost | undefined => {
    const [, ipv6, name, port] = HOST.exec(one) ?? [];
    const host = ipv6 ?? name;
    const number = port === undefined ? defaultPort : Number(port);
    return host === undefined || number < 1 || number > 65_535 ? undefined : { host, port: number };
  });
  const hosts = found.filter((one) => one !== undefined);
  if (hosts.length < found.length || hosts.length > HOSTS_MAX) {
    problems.push(
      `must name 1 to ${HOSTS_MAX} hosts, each as host or host:port, separated by commas`,
    );
  }
  return hosts;
}

function readQuery(
  text: string,
  problems: string[],
): Pick<SentinelAddress, 'sentinelUsername' | 'sentinelPassword'> {
  const query = new URLSearchParams(text);
  const known = ['sentinelUser', 'sentinelPassword'];
  if ([...query.keys()].some((name) => !known.includes(name))) {
    problems.push(`may have only ${known.join(' and ')} in its query`);
  }
  return {
    sentinelUsername: query.get('sentinelUser') ?? undefined,
    sentinelPassword: query.get('sentinelPassword') ?? undefined,
  };
}
