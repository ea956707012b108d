/** The description of an error in a log line. */
interface ErrorDescription {
  readonly type: string;
  readonly code?: string;
  /** The command of Redis, without its arguments. */
  readonly command?: string;
  readonly message?: string;
  readonly stack?: string;
  readonly cause?: ErrorDescription;
}

/** Errors wrap each other. A longer chain is circular. */
const CAUSES_MAX = 4;

/**
 * Describes an error for the log by fixed fields only. Libraries attach their input to errors (ioredis the arguments
 * of a command, viem the request and its URL), which may be a live authorization or a key. Similar text inside
 * messages is removed.
 */
export function describeError(error: unknown, causesLeft = CAUSES_MAX): ErrorDescription {
  if (!(error instanceof Error)) return { type: typeof error };
  const { name, message, stack, cause } = error;
  const { code, command } = error as { readonly code?: unknown; readonly command?: unknown };
  const commandName = nameOf(command);
  return {
    type: name,
    ...(typeof code === 'string' && { code }),
    ...(commandName !== undefined && { command: commandName }),
    message: withoutSecrets(message),
    ...(stack !== undefined && { stack: withoutSecrets(stack) }),
    ...(cause !== undefined && causesLeft > 0 && { cause: describeError(cause, causesLeft - 1) }),
  };
}

function nameOf(command: unknown): string | undefined {
  if (typeof command !== 'object' || command === null || !('name' in command)) return undefined;
  const { name } = command;
  return typeof name === 'string' && /^[a-z]{1,32}$/i.test(name) ? name : undefined;
}

/** Redis repeats the arguments of an unknown command. */
const REPEATED_ARGUMENTS = /, with args beginning with: .*/g;
/** URLs except file URLs, which show places in the code. */
const URLS = /\b(?!file:)[a-z][a-z\d+.-]*:\/\/\S+/gi;
/** 32 bytes and more: keys, signatures, signed transactions. */
const LONG_HEX = /(?:0x)?[\da-f]{64,}/gi;

function withoutSecrets(text: string): string {
  return text
    .replaceAll(REPEATED_ARGUMENTS, '')
    .replaceAll(URLS, '[url]')
    .replaceAll(LONG_HEX, '[bytes]');
}
