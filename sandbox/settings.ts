/**
 * What the sandbox sets itself, as it is what the sandbox is: everything on this machine, with keys of no
 * value. A shell that is set up for a real deployment must not point it elsewhere.
 */
const ITS_OWN = [
  'PORT',
  'HOST',
  'OPS_PORT',
  'OPS_HOST',
  'ROLES',
  'NETWORKS',
  'RPC_URLS',
  'SIGNER_KEYS',
  'REDIS_URL',
  'QUEUE_REDIS_URL',
  'HUB_REDIS_URL',
  'WALLET_REDIS_URL',
  'DATABASE_URL',
  'API_KEYS_FILE',
  'OPEN_SCOPES',
  'RECEIPT_KEY',
  'WEBHOOK_KEY',
  'WEBHOOK_ALLOW',
  'WALLET_PROVIDER',
  'WALLET_ASSETS',
  'WALLET_KEYSTORE_DIR',
  'WALLET_AUDIT_DIR',
  'WALLET_TOKEN_SECRET',
  'WALLET_SEAL_SECRET',
  'WALLET_KEYSTORE_SECRET',
];

/**
 * Settings of the service that a person gives to `npm start`: all there are, but those of the sandbox
 * itself.
 *
 * @param names - of every setting; those of a chain end in `_<chainId>`.
 */
export function settingsOfEnvironment(
  environment: Readonly<Record<string, string | undefined>>,
  names: readonly string[],
  chainId: number,
): Record<string, string> {
  const passed = names
    .map((name) => name.replace('_<chainId>', ''))
    .filter((name) => !ITS_OWN.some((own) => name === own || name === `${own}_PREVIOUS`))
    .flatMap((name) => [name, `${name}_${chainId}`, `${name}_FILE`]);
  return Object.fromEntries(
    passed.flatMap((name) => {
      const value = environment[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}
