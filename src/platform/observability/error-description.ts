/** The description of an error in a log line. */
interface ErrorDescription {
  readonly type: string;
  readonly code?: string;
  /** Of Redis; never its arguments. */
  readonly command?: string;
  readonly message?: string;
  readonly stack?: string;
  readonly cause?: ErrorDescription;
}

/** Errors wrap each other; a chain that is longer than this goes round in circles. */
const CAUSES_MAX = 4;

/**
 * Describes an error for the log by its fixed fields alone. Libraries hang what they were working on
 * upon their errors (ioredis the arguments of the command, viem the request and its URL), and that may
 * be a live authorization or a key. What looks like one in a text is taken out of it.
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

/** Redis repeats what it was sent, in what it says of a command it does not know. */
const REPEATED_ARGUMENTS = /, with args beginning with: .*/g;
/** Those of files are where our own code is, as a stack names it. */
const URLS = /\b(?!file:)[a-z][a-z\d+.-]*:\/\/\S+/gi;
/** 32 bytes and more: keys, signatures, signed transactions. */
const LONG_HEX = /(?:0x)?[\da-f]{64,}/gi;

function withoutSecrets(text: string): string {
  return text
    .replaceAll(REPEATED_ARGUMENTS, '')
    .replaceAll(URLS, '[url]')
    .replaceAll(LONG_HEX, '[bytes]');
}
